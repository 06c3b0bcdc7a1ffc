"""Whatever another wrote is accepted, or refused with an error of ours, within bounded memory.

One table has every decoder, loader and parser of the three packages, `inputs.INPUTS`. Each gets
bytes at random and proper inputs that were altered: bits flipped, parts cut, doubled, replaced and
inserted, among them what breaks parsers elsewhere. A case that was once found stands in `FOUND`.
The address space may grow by `MEBIBYTES` while an input is read; more is a MemoryError, no error of
ours. A new decoder that is missing from the table is found by its name, or by what it takes.
"""

from __future__ import annotations

import ast
import itertools
import re
import resource
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

import pytest
from fuzz.inputs import FOUND, INPUTS, NO_INPUT, World
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from askew.errors import AskewError

MEBIBYTES = 512


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield World(Path(folder))


@contextmanager
def bounded() -> Iterator[None]:
    """So much more address space than now, and no more."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + (MEBIBYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


# What parsers stumble over: deep nesting, numbers that are none or too long, half characters.
TOKENS = (
    b"[" * 3000, b'{"a":' * 3000, b"[" * 3000 + b"]" * 3000, b"9" * 5000, b"1e999", b"-0.0",
    b"NaN", b"Infinity", b"null", b"true", b"[]", b"{}", b'""', b"1/0", b"-1",
    b"18446744073709551616", b'"\\ud800"', b"\xed\xa0\x80", b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\0", b"\n", b"\r", b'"', b"\xc2\xb2", b"\xd9\xa3", b"\xe2\x80\xae",
)  # fmt: skip
_VALUE = re.compile(rb'"[^"]*"|-?\d[\d.e]*|[a-zA-Z]+')
_KINDS = ("flip", "cut", "remove", "double", "insert", "overwrite", "value", "value")
edits = st.tuples(
    st.sampled_from(_KINDS),
    st.integers(0, 1 << 16),
    st.integers(0, 40),
    st.sampled_from(TOKENS) | st.binary(max_size=9),
)
# None is the proper input, altered by the edits.
inputs = st.tuples(
    st.one_of(st.none(), st.none(), st.none(), st.binary(max_size=200), st.sampled_from(TOKENS)),
    st.lists(edits, min_size=1, max_size=3),
)
Edit = tuple[str, int, int, bytes]


def altered(data: bytes, edit: Edit) -> bytes:
    """One change of some bytes."""
    kind, place, size, new = edit
    at = place % (len(data) + 1)
    match kind:
        case "flip" if data:
            at %= len(data)
            return data[:at] + bytes([data[at] ^ 1 << size % 8]) + data[at + 1 :]
        case "cut":
            return data[:at]
        case "remove":
            return data[:at] + data[at + size :]
        case "double":
            return data[:at] + data[at : at + size] + data[at:]
        case "overwrite":
            return data[:at] + new + data[at + len(new) :]
        case "value" if found := list(_VALUE.finditer(data)):
            one = found[place % len(found)]
            return data[: one.start()] + new + data[one.end() :]
        case _:
            return data[:at] + new + data[at:]


def check(world: World, name: str, examples: int, *, same: bool) -> None:
    """Reads so many inputs. same: those of every run."""
    valid = world.valid(name)
    INPUTS[name].read(world, valid)  # what it imports and keeps is not the input's doing

    @settings(
        max_examples=examples,
        derandomize=same,
        database=None,
        deadline=None,
        phases=(Phase.generate,),  # the first case found is told as it is, and soon
        suppress_health_check=list(HealthCheck),
    )
    @given(case=inputs)
    def holds(case: tuple[bytes | None, list[Edit]]) -> None:
        data, changes = case
        if data is None:
            data = valid
            for edit in changes:
                data = altered(data, edit)
        refused_or_read(world, name, data)

    holds()


def refused_or_read(world: World, name: str, data: bytes) -> None:
    with bounded(), suppress(AskewError):
        INPUTS[name].read(world, data)


every_input = pytest.mark.parametrize("name", INPUTS)


@pytest.mark.thin
@every_input
def test_any_input_is_accepted_or_refused(world: World, name: str) -> None:
    """And all that parsers stumble over."""
    check(world, name, 20, same=True)
    for token in TOKENS:
        refused_or_read(world, name, token)


@pytest.mark.parametrize("case", FOUND)
def test_what_was_found_once_is_refused(world: World, case: str) -> None:
    name, change = FOUND[case]
    data = change(world.valid(name))
    with bounded(), pytest.raises(AskewError):
        INPUTS[name].read(world, data)


ROOT = Path(__file__).parents[2]
PACKAGES = ("shared/askew", "client/askew_client", "server/askew_server")
READS = re.compile(
    r"from_\w+|\w+_from_(bytes|text|body|message|json)|load|read|read_\w+|decode|decode_\w+"
    r"|parse|parse_\w+|parsed|first_of|opened|opened_bytes|verified"
)
OF = re.compile(r"of|\w+_of")  # of bytes or of text


def readers() -> Iterator[str]:
    """Every public function that reads, by its name and by what it takes."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(path.relative_to((ROOT / package).parent).with_suffix("").parts)
            for node in ast.parse(path.read_bytes()).body:
                inner = node.body if isinstance(node, ast.ClassDef) else [node]
                owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                for each in inner:
                    if isinstance(each, ast.FunctionDef) and _reads(each):
                        name = f"{owner}{each.name}"
                        if not name.startswith("_") and "._" not in name:
                            yield f"{module}:{name}"


def _reads(function: ast.FunctionDef) -> bool:
    takes = [each for each in function.args.args if each.arg not in ("self", "cls")]
    first = takes and takes[0].annotation
    text = isinstance(first, ast.Name) and first.id in ("bytes", "str")
    return bool(READS.fullmatch(function.name) or (text and OF.fullmatch(function.name)))


def called(world: World) -> set[str]:
    """Every function that is called while the proper inputs are read."""
    found: set[types.CodeType] = set()

    def seen(frame: types.FrameType, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_code)

    for name in INPUTS:
        data = world.valid(name)
        sys.setprofile(seen)
        try:
            INPUTS[name].read(world, data)
        finally:
            sys.setprofile(None)
    names = set()
    for code in found:
        for package in PACKAGES:
            _, here, rest = code.co_filename.partition(f"/{package}/")
            if here:
                module = ".".join([package.split("/")[1], *Path(rest).with_suffix("").parts])
                names.add(f"{module}:{code.co_qualname}")
    return names


def test_no_reader_is_forgotten(world: World) -> None:
    """Each is called by an input of the table, or it is argued why it needs none."""
    assert set(readers()) - called(world) == {*itertools.chain.from_iterable(NO_INPUT.values())}


@pytest.mark.audit
@every_input
def test_any_input_is_accepted_or_refused_for_a_minute(world: World, name: str) -> None:
    check(world, name, 120, same=False)


NIGHT, MOST = 7200.0, 10_000  # seconds of all inputs together, examples of one


@pytest.mark.nightly
@every_input
def test_any_input_is_accepted_or_refused_all_night(
    world: World, name: str, record_property: Callable[[str, object], None]
) -> None:
    """As many of each as fit its share of two hours, and at most `MOST`."""
    ends, done, at_once = monotonic() + NIGHT / len(INPUTS), 0, 100
    while done < MOST and monotonic() < ends:
        check(world, name, at_once, same=False)
        done += at_once
    record_property("examples", done)
