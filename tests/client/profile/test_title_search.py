"""A title is found as people write it: articles, case and accents do not matter."""

from __future__ import annotations

from collections import UserList
from typing import Any

import pytest
from client.conftest import Pair
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from askew.catalog.item import Item, plain_text, title_key, without_article
from askew.catalog.titles import TitleIndex
from askew_client.device.model import Matches, TitleSearch
from askew_client.profile.document import ProfileDocument
from askew_client.views.answers import Match, Rated

SPELLINGS = [
    ("The Usual Suspects (1995)", "Usual Suspects, The (1995)"),
    ("The Usual Suspects (1995)", "USUAL  SUSPECTS (1995)"),
    ("Amélie (2001)", "Amelie"),
    ("Misérables, Les (1995)", "Les Miserables (1995)"),
    ("L'Avventura (1960)", "Avventura, L' (1960)"),
    (
        "City of Lost Children, The (Cité des enfants perdus, La) (1995)",
        "The City of Lost Children (Cite des enfants perdus, La)",
    ),
    ("Die Große Straße", "GROSSE STRASSE, DIE"),
]


def items_of(pair: Pair, *labels: str) -> list[Item]:
    """Films of these labels, then others."""
    items = [
        Item(label[:-7], int(label[-5:-1])) if "(" in label else Item(label) for label in labels
    ]
    return [*items, *pair.catalog.items[len(items) :]]


@pytest.mark.parametrize(("listed", "typed"), SPELLINGS)
def test_articles_case_and_accents_do_not_matter_to_a_title(
    pair: Pair, listed: str, typed: str
) -> None:
    assert TitleIndex(items_of(pair, "Another (1990)", listed)).get(title_key(typed)) == 1


def test_an_article_counts_where_two_films_differ_by_it_alone(pair: Pair) -> None:
    """Planted bug: keys without articles, by which a rating of one film goes to the other."""
    labels = ("The Thing (1982)", "Thing, A (1982)", "Thing (2011)", "Die Hard (1988)")
    index = TitleIndex(items_of(pair, *labels))
    places = {
        "Thing, The (1982)": 0,
        "a thing (1982)": 1,
        "Thing (2011)": 2,
        "The Thing (2011)": 2,
        "Thing (1982)": None,
        "Hard (1988)": None,  # a German article is no English one
    }
    assert {typed: index.get(title_key(typed)) for typed in places} == places


def plainly(items: list[Item], text: str, limit: int) -> list[int]:
    """What is found by looking at every title."""
    wanted = plain_text(text).strip()
    words = [word.rstrip(",") for word in wanted.split()]
    labels = [plain_text(item.label) for item in items]
    found = [at for at, label in enumerate(labels) if all(word in label for word in words)]
    return sorted(found, key=lambda at: not labels[at].startswith(wanted))[:limit]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    labels=st.lists(
        st.text("ab éñα,th😀\u0301", min_size=1, max_size=6).filter(str.strip),
        min_size=1,
        max_size=12,
    ),
    text=st.text("ab ÉñαΑ,th😀\ud800", max_size=4),
    limit=st.sampled_from([1, 2, 3, 50]),
)
@example(labels=["th", "a th"], text="a th", limit=50)
@example(labels=["b a b", " a b", "a  b", "a b"], text="a b", limit=2)
@example(labels=["\u0301", "th", "\u0301\u0301", "ba"], text="b", limit=50)
def test_a_search_finds_what_looking_at_every_title_finds(
    pair: Pair, labels: list[str], text: str, limit: int
) -> None:
    """Planted bugs: a line that is found twice; those that begin with the text not first; the last
    line left out; a word that is found across two; blanks that do not count; of several words the
    longest alone; a line of marks alone, whose place is that of the next; blanks of which a title
    has more than are typed, taken for the same.
    """
    items = items_of(pair, *labels)
    search = TitleSearch(items)
    assert search.places(text, limit) == plainly(items, text, limit)
    first = len(labels) // 2  # the others were received, in two answers
    grown = TitleSearch(items[: first + 1]).with_more(items[first + 1 : -2])
    assert grown.with_more(items[-2:]).places(text, limit) == search.places(text, limit)


def test_a_match_has_the_rating_of_its_title_however_that_is_written(pair: Pair) -> None:
    items = items_of(pair, "Alien (1979)", "The Usual Suspects (1995)")
    document = ProfileDocument({"usual suspects, the (1995)": 4.0, "Moon (2009)": None})
    found = Matches(items, TitleSearch(items).places("", 2), document)
    suspects = Match(items[1].label, (), Rated("usual suspects, the (1995)", 4.0))
    assert [*found] == [Match("Alien (1979)"), suspects]
    assert [*found[1:]] == [suspects]


def plain_get(items: list[Item], key: str) -> int | None:
    """What an index means: a label's first item, a title that is clear, or one but an article."""
    keys = [(title_key(item.title), title_key(item.label)) for item in items]
    labels = [at for at, (_, label) in enumerate(keys) if label == key]
    if labels:
        return labels[0]
    titles = [at for at, (title, _) in enumerate(keys) if title == key]
    if len(titles) == 1:
        return titles[0]
    bare = without_article(key)
    alike = [at for at, each in enumerate(keys) if bare in map(without_article, each)]
    return alike[0] if len(alike) == 1 else None


TITLES = (
    st.lists(
        st.sampled_from(
            ["the", "a", "x", "é", ", The", ", la", "(x)", " (9)", "(12)", " ", "  ", ","]
        ),
        min_size=1,
        max_size=4,
    )
    .map("".join)
    .filter(str.strip)
)


@pytest.mark.slow
@settings(
    deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    items=st.lists(st.builds(Item, TITLES, st.sampled_from([None, 9, 12])), min_size=1, max_size=9),
    typed=TITLES,
)
def test_an_index_finds_what_looking_at_every_title_finds(
    pair: Pair, items: list[Item], typed: str
) -> None:
    """Planted bugs: a year that is part of a title taken off it; an item that was met, in front of
    one with its title and year that is held; titles of one article for those of another.
    """
    items = [*items, *pair.catalog.items[len(items) :]]
    index, n_held = TitleIndex(items), 1 + len(items) // 2
    grown = TitleIndex(items[:n_held]).with_more(items[n_held:])
    for one, other in ((grown._titles, index._titles), (grown._labels, index._labels)):
        assert (one.keys, one.numbers) == (other.keys, other.numbers)
    labels = [item.label for item in items]
    for text in (typed, *labels, *(item.title for item in items)):
        key = title_key(text)
        assert index.get(key) == plain_get(items, key)
        assert index.of_label(text) == (labels.index(text) if text in labels else None)


class Watched(UserList[Item]):
    """Items that count how often one is looked at."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)


@pytest.mark.parametrize("years", [[*range(1, 4001)], [1979] * 4000])
@pytest.mark.parametrize("title", ["Alien", "alien"])
def test_a_title_that_a_whole_catalog_has_takes_no_look(years: list[int], title: str) -> None:
    """And no item to be matched. Planted bugs: items of a title, or of a title and year, looked at.
    By the time that takes, a server that gives a title to all items, dear to be made a key of,
    would be told who rated it, or who had an answer that no other brings.
    """
    items = Watched([*(Item(title, year) for year in years), Item("The Alien"), Item("Moon")])
    index = TitleIndex(items)
    first = years.index(1979)
    keys = {
        "alien (1979)": first,
        "the alien (1979)": None if years[0] == 1979 else first,
        "alien (4999)": None,
        "the alien": 4000,
        "alien": None,
        "moon": 4001,
        "nowhere": None,
    }
    labels = {f"{title} (1979)": first, "The Alien": 4000, "ALIEN (1979)": None}
    items.looks = 0
    assert {key: index.get(key) for key in keys} == keys
    assert {label: index.of_label(label) for label in labels} == labels
    assert items.looks == 0
