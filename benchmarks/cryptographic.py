"""What a question costs by cryptography, as published; and what one costs here, in bytes.

Nothing of others is measured here: the figures are their authors', of other machines and other
catalogs. Ours are of the wire format: a question and its answer of the demo's films.
"""

from __future__ import annotations

from benchmarks.results import NOT_MEASURED, Result, record
from benchmarks.serving.host import CARD, RETRIEVE, Hosted
from benchmarks.serving.http2 import ask_once
from benchmarks.serving.models import K, questions

from askew.wire.tastes import card_from_bytes

TITLE = "bytes and core-seconds of a question"
TIPTOE = "Henzinger et al. 2023, eprint.iacr.org/2023/1438"
WALLY = "Asi et al. 2024, arxiv.org/abs/2406.06761"
APPLE = "github.com/apple/swift-homomorphic-encryption, documentation of PNNSProcessDatabase"
# work, unit, figure, where it is printed
PUBLISHED = (
    ("Tiptoe, 360 million pages", "MiB", 56.9, TIPTOE),
    ("Tiptoe, 360 million pages", "core-seconds", 145.0, TIPTOE),
    ("Wally, 3.2 million entries: bytes of Tiptoe's to its own, at least", "times", 6.69, WALLY),
    ("Wally, 3.2 million entries: questions a second to Tiptoe's, at least", "times", 7.0, WALLY),
    ("Apple's nearest neighbors, 4,096 rows of 128", "kB, question", 28.2, APPLE),
    ("Apple's nearest neighbors, 4,096 rows of 128", "kB, answer", 52.1, APPLE),
    ("Apple's nearest neighbors, 4,096 rows of 128", "kB, keys once", 170.2, APPLE),
    ("Apple's nearest neighbors, 4,096 rows of 128", "seconds of a server", 0.011, APPLE),
)


def main() -> None:
    with Hosted("films") as host:
        [card] = ask_once(host.port, CARD, [b""])
        asked = questions(card_from_bytes(card), K)
        replies = ask_once(host.port, RETRIEVE, asked)
    sizes = {"question": asked, "answer": replies}
    for name, found in sizes.items():
        size = sum(map(len, found)) / len(found)
        record(Result(TITLE, f"ours, {K} of 417 films", f"bytes, {name}", size))
        print(f"ours: {size:.0f} bytes, {name}")
    for work, unit, figure, source in PUBLISHED:
        note = f"{NOT_MEASURED}: {source}"
        record(Result(TITLE, work, peers={unit: figure}, note=note))
        print(f"{work}: {figure:g} {unit}; {NOT_MEASURED}: {source}")


if __name__ == "__main__":
    main()
