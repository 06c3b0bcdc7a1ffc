"""From a noisy signal to k items.

`offset_rule` answers a signal: a server answers by it, and a device plays it at home. `cover`
chooses items that serve weighted people best, which training does.
"""
