"""What a rule is worth on a map, a line or a ring: how much farther than the truly nearest item the
best of k results is.
"""
