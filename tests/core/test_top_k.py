"""`askew.top_k`: what one types first works, in every form, and what is wrong is told."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from mechanisms.streams import ShakeBits

import askew
from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, ApproximateDP
from askew.errors import ParameterError
from askew.mechanisms import Canonical

MENU = ["tea", "milk", "rum", "ale", "gin"]
COUNTS = {"tea": 900, "milk": 7, "rum": 870, "ale": 850}


def test_the_first_line_of_the_documents() -> None:
    """A set by name, certain but for one time in 10**80: the gap is 843, and epsilon 1/2."""
    found = askew.top_k(COUNTS, items=MENU, k=3, epsilon=0.5)
    assert repr(found) == (
        "TopK(items=['ale', 'rum', 'tea'], "
        "loss='(1/2, 0)-DP, add or remove one person', mechanism='Canonical')"
    )


def test_importing_askew_loads_nothing_heavy() -> None:
    code = "import askew, sys; assert not {'numpy', 'typing', 'askew.dp'} & set(sys.modules)"
    shared = Path(__file__).parents[2] / "shared"
    subprocess.run([sys.executable, "-S", "-c", code], check=True, env={"PYTHONPATH": str(shared)})


def test_the_root_names_what_it_loads() -> None:
    assert {*askew.__all__} <= {*dir(askew)}
    with pytest.raises(AttributeError, match="no attribute 'topk'"):
        _ = askew.topk  # type: ignore[attr-defined]


# The forms that counts come in. Doubles have the methods of the real objects that are read; the
# real ones are tried below where they are installed.


def pandas_series(index: Any, values: list[Any]) -> Any:
    return SimpleNamespace(index=index, iloc=None, shape=(len(values),), tolist=lambda: values)


NAMELESS = type("RangeIndex", (), {})()


def pandas_frame(*columns: list[Any]) -> Any:
    cells = np.array(columns, object).T
    return SimpleNamespace(shape=cells.shape, iloc=cells)


def polars_series(values: list[Any]) -> Any:
    return SimpleNamespace(shape=(len(values),), to_list=lambda: values)


def polars_frame(*columns: list[Any]) -> Any:
    shape = len(columns[0]), len(columns)
    return SimpleNamespace(shape=shape, to_series=lambda n: polars_series(columns[n]))


NAMES, VALUES = [*COUNTS], [*COUNTS.values()]
NAMED: dict[str, Callable[[], Any]] = {
    "dict in another order": lambda: dict(reversed(COUNTS.items())),
    "pairs, as most_common gives them": lambda: Counter(COUNTS).most_common(),
    "numpy's numbers": lambda: {np.str_(name): np.int32(n) for name, n in COUNTS.items()},
    "pandas Series": lambda: pandas_series(np.array(NAMES), VALUES),
    "pandas frame": lambda: pandas_frame(NAMES, VALUES),
    "polars frame": lambda: polars_frame(NAMES, VALUES),
}
PLACED: dict[str, Callable[[], Any]] = {
    "tuple": lambda: tuple(VALUES),
    "array of 16 bits": lambda: np.array(VALUES, np.uint16),
    "array of objects": lambda: np.array(VALUES, object),
    "polars Series": lambda: polars_series(VALUES),
}


def real_forms() -> tuple[dict[str, Callable[[], Any]], dict[str, Callable[[], Any]]]:
    """Those of the libraries that are installed here, named and placed."""
    named: dict[str, Callable[[], Any]] = {}
    placed: dict[str, Callable[[], Any]] = {}
    if find_spec("pandas"):
        pd: Any = import_module("pandas")
        people = [name for name, n in COUNTS.items() for _ in range(n)]
        named["real value_counts"] = lambda: pd.Series(people).value_counts()
        named["real reset_index"] = lambda: pd.Series(people).value_counts().reset_index()
        named["real categories"] = lambda: pd.Series(people, dtype="category").value_counts()
        named["real nullable"] = lambda: pd.Series(VALUES, NAMES, dtype="Int64")
    if find_spec("polars"):
        pl: Any = import_module("polars")
        named["real polars"] = lambda: pl.DataFrame({"x": NAMES, "n": VALUES})
        placed["real polars Series"] = lambda: pl.Series(VALUES)
    if find_spec("pyarrow"):
        pa: Any = import_module("pyarrow")
        named["real arrow table"] = lambda: pa.table({"x": NAMES, "n": VALUES})
        placed["real arrow array"] = lambda: pa.array(VALUES)
    return named, placed


REAL_NAMED, REAL_PLACED = real_forms()
# Little, so that bits decide.
SAME: dict[str, Any] = {"k": 3, "epsilon": Fraction(1, 200), "with_counts": True}


@pytest.mark.parametrize("form", [*NAMED, *REAL_NAMED])
def test_named_counts_of_every_form_give_the_same_by_the_same_bits(form: str) -> None:
    """Planted bug: ties and draws in the order of the input."""
    for seed in map(str, range(5)):
        counts = {**NAMED, **REAL_NAMED}[form]()
        found = askew.top_k(counts, items=MENU, bits=ShakeBits(seed), **SAME)
        assert found == askew.top_k(COUNTS, items=set(MENU), bits=ShakeBits(seed), **SAME)
        assert found.items == sorted(found.items)
        free = askew.top_k(counts, unknown=True, delta=0.5, bits=ShakeBits(seed), **SAME)
        same = askew.top_k(COUNTS, unknown=True, delta=0.5, bits=ShakeBits(seed), **SAME)
        assert free == same
        assert "np." not in repr(found) + repr(free)


@pytest.mark.parametrize("form", [*PLACED, *REAL_PLACED])
def test_places_of_every_form_give_the_same_by_the_same_bits(form: str) -> None:
    for seed in map(str, range(5)):
        counts = {**PLACED, **REAL_PLACED}[form]()
        found = askew.top_k(counts, bits=ShakeBits(seed), **SAME)
        assert found == askew.top_k(VALUES, bits=ShakeBits(seed), **SAME)
        named = askew.top_k(counts, items=NAMES, bits=ShakeBits(seed), **SAME)
        assert named == askew.top_k(COUNTS, items=NAMES, bits=ShakeBits(seed), **SAME)
        assert "np." not in repr(found) + repr(named)


def test_names_may_be_numbers_dates_or_pairs_and_are_sorted_by_kind() -> None:
    names = [("a", 2), 7, "7", ("a", 1), 3, "b"]
    found = askew.top_k(dict.fromkeys(names, 5), items=np.array(names, object), k=6, epsilon=1)
    assert found.items == [3, 7, "7", "b", ("a", 1), ("a", 2)]
    assert askew.top_k([5, 6, 7], k=3, epsilon=1).items == [0, 1, 2]
    empty: list[object] = [{}, [], Counter[int]().most_common(), polars_frame([], [])]
    for nobody in empty:
        assert askew.top_k(nobody, items=range(4), k=4, epsilon=1).items == [0, 1, 2, 3]
        assert askew.top_k(nobody, unknown=True, delta=0.1, k=4, epsilon=1).items == []


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (0.1, Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.int64(2), Fraction(2)),
    ],
)
def test_a_number_is_taken_as_the_decimal_that_it_prints(written: float, value: Fraction) -> None:
    """Planted bug: a float as the binary fraction that it is."""
    found = askew.top_k(COUNTS, items=MENU, k=2, epsilon=written)
    assert found.privacy_loss() == ApproximateDP(value, Fraction(0), ADD_OR_REMOVE_ONE)


ORDERED: dict[str, Any] = {"max_items_per_person": 2, "ordered": True}
# What the table of docs/selection.md says, one row a case.
TABLE: list[tuple[str, dict[str, Any]]] = [
    ("PermuteAndFlip", {"items": MENU, "k": 1}),
    ("PermuteAndFlip", {"items": MENU, "k": 1, "ordered": True}),
    ("Canonical", {"items": MENU, "k": 2}),
    ("Canonical", {"items": range(5000), "k": 500, "delta": 1e-6}),
    ("Joint", {"items": MENU, "k": 2, "ordered": True}),
    ("Joint", {"items": range(500), "k": 100, "ordered": True, "delta": 1e-6}),
    ("Peeling", {"items": range(500), "k": 101, "ordered": True}),
    ("ConcentratedPeeling", {"items": range(500), "k": 101, "ordered": True, "delta": 1e-6}),
    ("LimitedDomain", {"unknown": True, "k": 2, "delta": 1e-6}),
    ("LimitedDomain", {"unknown": True, "k": 2, "delta": 1e-6, "max_items_per_person": 2}),
    ("LaplaceLimitedDomain", {"unknown": True, "k": 3, "delta": 1e-6, "max_items_per_person": 2}),
    ("OneShot", {"items": MENU, "k": 2, "mechanism": "OneShot"}),
    ("PNFJoint", {"items": MENU, "k": 2, "mechanism": "PNFJoint"}),
    ("LaplaceCounts", {"items": MENU, "k": 2, "mechanism": "LaplaceCounts", **ORDERED}),
    ("LimitedDomain", {"items": MENU, "k": 2, "mechanism": "LimitedDomain", "delta": 0.1}),
]


@pytest.mark.parametrize("with_counts", [False, 0.25])
@pytest.mark.parametrize("case", range(len(TABLE)))
def test_the_table_names_the_mechanism_and_an_explanation_says_the_same(
    case: int, with_counts: bool | float
) -> None:
    name, asked = TABLE[case]
    found = askew.top_k(COUNTS, epsilon=0.7, with_counts=with_counts, **asked)
    text = str(askew.top_k({}, epsilon=0.7, with_counts=with_counts, **asked).plan)
    assert text == str(found.plan)
    assert found.mechanism == name
    assert f"by {name}\n" in text
    assert f"costs     {found.loss}\n" in text
    loss = found.privacy_loss()
    assert loss.epsilon == Fraction(7, 10)
    assert loss.delta in (0, Fraction(str(asked.get("delta", 0))))
    assert ("counts    " in text) == bool(with_counts) == (found.counts is not None)
    if with_counts:
        assert found.plan.counts_loss is not None
        assert found.plan.counts_loss.epsilon == Fraction(7, 40)
        within = re.findall(r"within ([\d,]*\d)", text)
        each, together = (number.replace(",", "") for number in within)
        assert found.error == f"each within {each}, all within {together}, at 95 %"


def test_the_counts_use_delta_only_where_they_err_less_by_it() -> None:
    wide: dict[str, Any] = {"items": range(100), "epsilon": 0.5, "delta": 1e-6, "with_counts": True}
    few, many = askew.top_k([5] * 100, k=3, **wide), askew.top_k([5] * 100, k=50, **wide)
    assert few.privacy_loss().delta == 0
    assert many.privacy_loss().delta == Fraction(1, 10**6)
    free: dict[str, Any] = {"unknown": True, "epsilon": 0.5, "delta": 1e-6, "with_counts": True}
    shared = askew.top_k({}, k=50, **free)
    assert shared.plan.counts_loss is not None
    assert shared.plan.items_loss.delta == shared.plan.counts_loss.delta == Fraction(1, 2 * 10**6)
    assert (shared.items, shared.counts, shared.stopped) == ([], [], True)
    assert "stopped=True" in repr(shared)


RESULTS = [
    askew.top_k(COUNTS, items=MENU, k=3, epsilon=0.5),
    askew.top_k(COUNTS, items=MENU, k=3, epsilon=0.5, ordered=True, with_counts=True),
    askew.top_k(COUNTS, items=MENU, k=1, epsilon=0.5, neighbors=REPLACE_ONE),
    askew.top_k(COUNTS, unknown=True, k=3, epsilon=1, delta=1e-6, with_counts=0.1),
    askew.top_k({}, items=[f"<{n}>&" * 99 for n in range(99)], k=60, epsilon=1, with_counts=True),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.mechanism)
def test_a_result_travels_and_draws_itself(result: askew.TopK) -> None:
    """Planted bug: a name that is not escaped."""
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result
    assert result != RESULTS[(RESULTS.index(result) + 1) % len(RESULTS)]
    drawn = ET.fromstring(result._repr_svg_())
    words = " ".join(drawn.itertext())
    assert result.loss.partition(":")[0] in words
    assert f"items: epsilon {result.plan.items_loss.epsilon}" in words
    assert all(str(item)[:20] in words for item in result.items[:50])
    assert ("and 10 more" in words) == (len(result.items) == 60)
    bars = drawn.findall("{http://www.w3.org/2000/svg}rect")
    shown = min(len(result.items), 50) + 1 if result.counts else 0
    assert len(bars) == 1 + shown


class Bad:
    def __repr__(self) -> str:
        return "31337"


HOSTILE: dict[str, Any] = {
    "bytes": b"\x05\x06",
    "None": None,
    "generator": (n for n in [31337]),
    "text": "31337",
    "number": 31337,
    "names that are not counted": ["31337", "31337"],
    "float": [31337.0, 1],
    "array of text": np.array(["31337"]),
    "negative": [-31337, 1],
    "negative in an array": np.array([-31337]),
    "bool": [True, 31337],
    "2**70": [2**70 + 31337],
    "2**63 in an array": np.array([2**63 + 31337], np.uint64),
    "two dimensions": np.array([[31337, 2]]),
    "masked": np.ma.array([31337, 2], mask=[True, False]),
    "object": [Bad()],
    "three columns": polars_frame(["a"], ["b"], [31337]),
    "columns that are swapped": polars_frame([31337, 2], ["a", "b"]),
    "names twice in a frame": polars_frame(["31337", "31337"], [31337, 2]),
    "names twice in a Series": pandas_series(np.array(["31337"] * 2), [31337, 2]),
    "a frame of nobody's": type("Frame", (), {"shape": (2, 2)})(),
}


@pytest.mark.parametrize("form", HOSTILE)
def test_what_is_no_count_gets_an_error_without_a_count_or_a_name(form: str) -> None:
    """Planted bug: `got` shows the counts."""
    with pytest.raises(ParameterError) as refusal:
        askew.top_k(HOSTILE[form], unknown=True, delta=0.1, k=1, epsilon=1)
    assert "31337" not in str(refusal.value)
    assert refusal.value.name in ("counts", "the names of counts")
    assert str(refusal.value)[-100:].rpartition("got ")[2]


WITHOUT_ORDER: dict[str, list[object]] = {
    "missing": [None],
    "NaN": [float("nan"), np.float64("nan")],
    "baskets": [frozenset("ab"), frozenset("cd")],
    "of a class of somebody's": [Bad(), Bad()],
    "lists": [["31337"], ["b"]],
    "missing in a part": [("de", None), ("de", 1.0, float("nan"))],
    "dates of numpy": [np.datetime64("2020-01-01"), np.datetime64("2020-01-01", "ns")],
}


@pytest.mark.parametrize("kind", WITHOUT_ORDER)
def test_a_name_without_an_order_is_left_out_whoever_brought_it(kind: str) -> None:
    """An error would tell that somebody did; and baskets compare in part, so that the order in
    which they came, which is the ranking, would break ties. Planted bug: names sorted as they are.
    """
    odd = [(name, 5000) for name in WITHOUT_ORDER[kind]]
    plain = [("tea", 5000), ("milk", 4000)]
    asked: dict[str, Any] = {"k": 3, "epsilon": 1, "delta": 1e-6, "unknown": True}
    for counts in ([*odd, *plain], [*plain, *odd]):
        assert askew.top_k(counts, **asked, bits=ShakeBits(kind)) == askew.top_k(
            plain, **asked, bits=ShakeBits(kind)
        )
    with pytest.raises(ParameterError, match="items must be text, numbers"):
        askew.top_k(plain, items=[*WITHOUT_ORDER[kind], "tea"], k=1, epsilon=1)


WRONG: dict[str, dict[str, Any]] = {
    "k": {"k": 6},
    "epsilon": {"epsilon": "0.5"},
    "delta": {"delta": 1.5},
    "neighbors": {"neighbors": "replace one"},
    "max_items_per_person": {"max_items_per_person": 0},
    "mechanism": {"mechanism": "Peelings"},
    "with_counts": {"with_counts": 1},
    "items": {"items": "tea"},
}


@pytest.mark.parametrize(
    "wrong",
    [
        *WRONG.values(),
        {"k": 2.0},
        {"epsilon": True},
        {"epsilon": float("nan")},
        {"epsilon": Decimal("1e-999999999")},  # which would take hours
        {"epsilon": 0},
        {"delta": -0.1},
        {"max_items_per_person": 2.5},
        {"mechanism": "LaplaceCounts"},
        {"mechanism": "ConcentratedPeeling"},
        {"mechanism": "Canonical", "ordered": True},
        {"mechanism": Canonical},
        {"with_counts": 1.5},
        {"with_counts": "yes"},
        {"items": ["tea", "tea"]},
        {"items": [1.0, None]},
        {"items": 5},
    ],
    ids=str,
)
def test_a_wrong_argument_is_named_before_any_data(wrong: dict[str, Any]) -> None:
    """And in the same words with it; no count is in them."""
    asked: dict[str, Any] = {"items": MENU, "k": 2, "epsilon": 0.5, **wrong}
    with pytest.raises(ParameterError) as refusal:
        askew.top_k({}, **asked)
    with pytest.raises(ParameterError) as again:
        askew.top_k(COUNTS, **asked)
    assert str(again.value) == str(refusal.value)
    assert refusal.value.name in WRONG


@pytest.mark.parametrize(
    ("counts", "asked", "advice"),
    [
        (COUNTS, {}, r"items=\[\.\.\.\] with all names that may be selected, or unknown=True"),
        (
            pandas_series(np.array(NAMES), VALUES),
            {},
            "names that come from the data can show who brought",
        ),
        (COUNTS, {"items": COUNTS}, "made without the data"),
        (COUNTS, {"items": MENU, "unknown": True, "delta": 0.1}, "unknown=True takes none"),
        (COUNTS, {"unknown": True}, "given with unknown=True: far below one"),
        (COUNTS, {"unknown": True, "delta": 0.1, "mechanism": "Joint"}, "LaplaceLimitedDomain"),
        (VALUES, {"items": MENU}, "as long as the counts and in their order"),
        (VALUES, {"items": set(NAMES)}, "a list"),
        (COUNTS, {"unknown": True, "delta": 0.1, "neighbors": REPLACE_ONE}, "ADD_OR_REMOVE_ONE"),
        (["tea"] * 9, {"items": MENU}, r"Counter\(names\) or \.value_counts\(\) counts them"),
        (pandas_frame(VALUES, NAMES), {"items": MENU}, "names in its first column"),
        (pandas_series(np.array(NAMES), NAMES), {"items": MENU}, r"\.value_counts\(\)"),
        (pandas_series(NAMELESS, VALUES), {"items": range(4)}, r"\.value_counts\(\)"),
        (pandas_frame(VALUES), {"items": MENU}, r"\.reset_index\(\)"),
        (np.ma.array([1, 2]), {}, "without a mask"),
    ],
)
def test_an_error_says_what_to_type(counts: object, asked: dict[str, Any], advice: str) -> None:
    with pytest.raises(ParameterError, match=advice) as refusal:
        askew.top_k(counts, k=1, epsilon=1, **asked)
    assert "900" not in str(refusal.value)
