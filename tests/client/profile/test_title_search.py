"""A title is found as people write it: articles, case and accents do not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askew.item import Item
from askew.model_card import Catalog
from askew.title_key import plain_text, title_key
from askew.titles import TitleIndex
from askew_client.profile.title_search import TitleSearch
from askew_client.views.rated import Title

if TYPE_CHECKING:
    from client.conftest import Pair

SPELLINGS = [
    ("The Usual Suspects (1995)", "Usual Suspects, The (1995)"),
    ("The Usual Suspects (1995)", "usual suspects"),
    ("The Usual Suspects (1995)", "USUAL  SUSPECTS (1995)"),
    ("Usual Suspects, The (1995)", "The Usual Suspects"),
    ("Usual Suspects, The (1995)", "the usual suspects (1995)"),
    ("Alien (1979)", "The Alien (1979)"),
    ("Amélie (2001)", "Amelie"),
    ("Misérables, Les (1995)", "Les Miserables (1995)"),
    ("L'Avventura (1960)", "Avventura, L' (1960)"),
    ("City of Lost Children, The (Cité des enfants perdus, La) (1995)",) * 2,
    (
        "City of Lost Children, The (Cité des enfants perdus, La) (1995)",
        "The City of Lost Children (Cite des enfants perdus, La)",
    ),
    ("Die Große Straße", "GROSSE STRASSE, DIE"),
    ("A (1998)", "a (1998)"),
]


def catalog_of(pair: Pair, *labels: str) -> Catalog:
    """Films of these labels, then others."""
    items = [
        Item(label[:-7], int(label[-5:-1])) if "(" in label else Item(label) for label in labels
    ]
    return replace(pair.catalog, items=(*items, *pair.catalog.items[len(items) :]))


@pytest.mark.parametrize(("listed", "typed"), SPELLINGS)
def test_articles_case_and_accents_do_not_matter_to_a_title(
    pair: Pair, listed: str, typed: str
) -> None:
    assert TitleIndex(catalog_of(pair, "Another (1990)", listed)).get(title_key(typed)) == 1


def test_an_article_counts_where_two_films_differ_by_it_alone(pair: Pair) -> None:
    """Planted bug: keys without articles, by which a rating of one film goes to the other."""
    index = TitleIndex(catalog_of(pair, "The Thing (1982)", "Thing, A (1982)", "Thing (2011)"))
    assert index.get(title_key("Thing, The (1982)")) == 0
    assert index.get(title_key("a thing (1982)")) == 1
    assert index.get(title_key("Thing (2011)")) == 2
    assert index.get(title_key("The Thing (2011)")) == 2
    assert index.get(title_key("Thing (1982)")) is None
    assert index.get(title_key("An Other (1982)")) is None


def test_a_german_article_is_no_english_one(pair: Pair) -> None:
    """ "Hard (1988)" is not "Die Hard (1988)"."""
    index = TitleIndex(catalog_of(pair, "Die Hard (1988)"))
    assert index.get(title_key("Hard (1988)")) is None


def test_a_search_finds_a_title_typed_with_its_article_behind(pair: Pair) -> None:
    search = TitleSearch(catalog_of(pair, "The Usual Suspects (1995)"))
    assert [each.label for each in search.find("Usual Suspects, The", 5)] == [
        "The Usual Suspects (1995)"
    ]


def plainly(search: TitleSearch, text: str, limit: int) -> tuple[Title, ...]:
    """What is found by looking at every title."""
    wanted = plain_text(text).strip()
    words = [word.rstrip(",") for word in wanted.split()]
    labels = [plain_text(title.label) for title in search.titles]
    found = [at for at, label in enumerate(labels) if all(word in label for word in words)]
    found.sort(key=lambda at: not labels[at].startswith(wanted))
    return tuple(search.titles[at] for at in found[:limit])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    labels=st.lists(
        st.text("ab é,th", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=9
    ),
    text=st.text("ab é,th", max_size=4),
    limit=st.sampled_from([1, 2, 3, 50]),
)
def test_a_search_finds_what_looking_at_every_title_finds(
    pair: Pair, labels: list[str], text: str, limit: int
) -> None:
    """Planted bugs: a line that is found twice; those that begin with the text not first."""
    search = TitleSearch(catalog_of(pair, *labels))
    assert plainly(search, text, limit) == search.find(text, limit)
