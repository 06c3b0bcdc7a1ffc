"""From a noisy signal to k items: the public rules, and what they weigh.

A server answers by one of them, and a device plays it at home. `posterior` and `buckets` weigh the
people of a prior; `rules` has the others, and makes the one that a card names.
"""
