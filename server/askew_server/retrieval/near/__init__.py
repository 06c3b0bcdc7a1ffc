"""Near a place: rules from a noisy position, or a noisy point on axes, to k items.

    index = MetricIndex(space, coordinates)                  # (n, 2) degrees, or (n, d) on axes
    density = Density.of_towns(index.frame, towns, coordinates)  # only `posterior` uses it
    wants = Wants(index, card.wants, columns)                # what people may care about
    rule = served_rule_of(MetricRuleKind.POSTERIOR, index, density, wants)
    rule.choose(signal, k)                                   # (k,) int64, distinct, ascending

Every rule depends on the signal and on public things alone, so it is post-processing, and throws no
coins: the same bytes get the same answer.
"""
