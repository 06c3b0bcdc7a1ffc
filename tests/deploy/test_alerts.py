"""Every alert asks for numbers that a server publishes, and says what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from askew_server.serving.endpoint import exposition_of
from askew_server.serving.observer import STATUSES, Observer

ROOT = Path(__file__).parents[2]
(GROUP,) = yaml.safe_load((ROOT / "deploy/alerts.yaml").read_text())["groups"]
RULES: list[dict[str, Any]] = GROUP["rules"]
# Of the language of expressions, beside names of metrics; see Prometheus' own documents.
FUNCTIONS = (
    "rate increase sum max min by changes histogram_quantile min_over_time max_over_time ignoring "
    "count"
)
WORDS = {*FUNCTIONS.split(), "group_left", "instance", "queue", "method", "le", "monday", "digest"}
OF_THE_READER = {"up"}  # Prometheus makes it itself


class QueueName:
    taken, refused, wait = 0, 0, 0.0


def filled() -> Observer:
    """What observes a server with everything on."""
    observer = Observer()
    observer.method("askew.wire.v1.Retrieval", "Retrieve").done(0, 0.1)
    observer.queues = {"answers": QueueName()}
    observer.healths = lambda: {"askew.wire.v1.Retrieval": True}
    observer.serves(lambda: 4, 0.0, lambda: {4: "ab" * 8})
    observer.certificate_days = lambda: 30.0
    return observer


def published() -> dict[str, set[str]]:
    """The names that it publishes, with the labels of each."""
    families = text_string_to_metric_families(exposition_of(filled()).decode())
    samples = [sample for family in families for sample in family.samples]
    return {sample.name: set(sample.labels) for sample in samples}


def names_in(expression: str) -> set[str]:
    """The metrics of an expression: what is left of its words without selectors and functions."""
    plain = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b\d[\w.]*", " ", expression)
    return set(re.findall(r"[a-z_]\w*", plain)) - WORDS - OF_THE_READER


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_what_there_is(rule: dict[str, Any]) -> None:
    """Planted bugs: a metric without its `_total`; a status that gRPC does not have."""
    there, expression = published(), rule["expr"]
    names = names_in(expression)
    assert names <= set(there)
    assert names or "up{" in expression
    for name, selector in re.findall(r"(\w+)\{([^}]*)\}", expression):
        labels = dict(re.findall(r'(\w+)=~?"([^"]*)"', selector))
        assert set(labels) <= there.get(name, set()) | {"job"}
        assert set(labels.get("status", "OK").split("|")) <= set(STATUSES)
    for grouped in re.findall(r"by \(([^)]*)\)", expression):
        known = {label for name in names for label in there[name]} | {"instance"}
        assert set(grouped.replace(" ", "").split(",")) <= known
    assert expression.count("(") == expression.count(")")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_happened_and_what_to_do(rule: dict[str, Any]) -> None:
    assert set(rule["annotations"]) == {"summary", "action"}
    assert all(text.endswith(".") for text in rule["annotations"].values())


def test_every_number_of_ours_says_what_it_is_on_its_page() -> None:
    families = text_string_to_metric_families(exposition_of(filled()).decode())
    bare = [
        each.name for each in families if each.name.startswith("askew_") and not each.documentation
    ]
    assert bare == []
