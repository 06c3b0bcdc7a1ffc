"""What a signal adds where devices hold some items already, in ratings of your own.

    .venv/bin/python benchmarks/complements.py RATINGS [--held 20] [-k 5] [--min-ratings 20]
        [--epsilon 4 ...] [--truth next ...] [--seeds 3] [--principal]

--principal leaves out the search for signal directions, which takes most of the time and which
only `posterior` gains by. The rows are those of `askew_server.evaluation.complements`. A difference
is to the best items for anybody, as many as are held and served together; after it is its standard
error over people. Epsilon is plain, between any two people, and beside it for each rating.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from askew_server.evaluation.complements import Question, Row, compare
from askew_server.evaluation.data import read_table
from askew_server.evaluation.truths import TRUTHS


def asked() -> tuple[Path, Question]:
    """The file and the question of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ratings", type=Path)
    parser.add_argument("--held", type=int, default=Question.held)
    parser.add_argument("-k", type=int, default=Question.k)
    parser.add_argument("--min-ratings", type=int, default=Question.min_ratings)
    parser.add_argument("--epsilon", type=float, nargs="+", default=Question.epsilons)
    parser.add_argument("--truth", choices=TRUTHS, nargs="+", default=Question.truths)
    parser.add_argument("--seeds", type=int, default=len(Question.seeds))
    parser.add_argument("--principal", action="store_true")
    given = parser.parse_args(sys.argv[1:])
    question = Question(
        truths=tuple(given.truth),
        seeds=tuple(range(given.seeds)),
        held=given.held,
        k=given.k,
        epsilons=tuple(given.epsilon),
        min_ratings=given.min_ratings,
        learned=not given.principal,
    )
    return given.ratings, question


def line(row: Row) -> str:
    """One row of the table."""
    epsilon = f"{row.epsilon:g}" if row.epsilon else ""
    per_rating = f"{row.per_rating:.3g}" if row.per_rating else ""
    gain = f"{row.gain.mean:+.3f} ± {row.gain.error:.3f}"
    return (
        f"{row.truth:10}  {row.starter:12}  {row.way:10}  {epsilon:>4}  {per_rating:>5}  "
        f"{row.ratio.mean:.3f} ± {row.ratio.error:.3f}  {gain}  {row.coverage:6.1%}"
    )


def main() -> None:
    """Measure and print."""
    path, question = asked()
    print(f"{question.held} items held, {question.k} served, {len(question.seeds)} seeds")
    print("truth       held          way     epsilon  rating  ratio          difference     picked")
    for row in compare(read_table(path), question):
        print(line(row))


if __name__ == "__main__":
    main()
