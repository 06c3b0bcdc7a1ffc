"""Dear items: what it is worth that a device names a slate by the vectors of all slates.

    none      the zero-information slate: no signal
    linear    buckets by a linear encoder, where a device does not hold the vectors of slates
    slates    the device scores every slate by its own taste, names the best by randomized
              response, and picks among the k items whose payloads come

Slates are designed for the server's people, their number is chosen by validation's, and clients are
measured. Devices hold the vectors and boosts of slates as codes say them, and name slates by those;
what a pick is worth is exact, as in the other tables. Both signals are randomized response at the
same epsilon, the plain one of any two people.

Refills: a client draws once, and the same signal is answered from later catalogs. At each refill a
tenth of the items goes and as many come that were never there before. Slate b is filled anew for
those of the server's people who name b, as a server fills it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.item import Item
from askew.item_codes import encode, encode_boosts, rounded, rounded_boosts, scales_of
from askew.meanings import Meanings
from askew.model_card import Catalog
from askew.retrieval.buckets import labels_of, slates_of
from askew.retrieval.cover import cover
from askew_server.evaluation.rules import bucket_slates
from askew_server.evaluation.scene import Scene
from askew_server.evaluation.slate_choice import SlateQuestion, best_slates
from askew_server.prior.people import PriorPeople, names_of
from askew_server.training.quality import served_by
from askew_server.training.simulated_noise import response_signals

REFILLS = (0, 1, 5, 20)
_SHARE = 10  # of the items one goes at each refill
_FIRST = 3  # of the scene's items one is in the first catalog
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Compared:
    """One scene: what there was to get, and what clients got by each way, (n,) each. slates: how
    many there are; size: the bytes of their vectors and boosts on a device.
    """

    possible: Array = field(repr=False)
    none: Array = field(repr=False)
    linear: Array = field(repr=False)
    slates: Array = field(repr=False)
    n_slates: int
    size: int


@dataclass(frozen=True, eq=False)
class Refilled:
    """After so many refills: what there was to get, and what clients got without a signal, by the
    signal that they have stored, and by a new one for new slates, (n,) each. left: the part of the
    first items that is still there.
    """

    refills: int
    left: float
    possible: Array = field(repr=False)
    none: Array = field(repr=False)
    stored: Array = field(repr=False)
    anew: Array = field(repr=False)


def compared(scene: Scene, question: SlateQuestion) -> Compared:
    """The three ways. Deterministic."""
    k = question.k
    stall = _Stall.of(scene, np.arange(scene.wanted.n_items))
    meanings = stall.meanings(question)
    filled, sent = stall.filled(meanings, question), stall.sent(meanings, question)
    _, linear = bucket_slates(scene, float(question.epsilon), k, question.sizes)
    return Compared(
        possible=scene.possible,
        none=stall.got(stall.shared(k)[None]),
        linear=stall.got(linear[k]),
        slates=stall.got(filled[sent]),
        n_slates=len(meanings),
        size=device_bytes(meanings, stall.scales),
    )


def refilled(
    scene: Scene, question: SlateQuestion, refills: Sequence[int] = REFILLS
) -> Iterator[Refilled]:
    """What a stored signal is worth from catalog to catalog. Deterministic."""
    rng = np.random.default_rng([scene.dealt.seed, 21])
    order = rng.permutation(scene.wanted.n_items)
    size = len(order) // _FIRST
    here, waiting = order[:size], order[size:]
    first = _Stall.of(scene, np.sort(here))
    meanings = first.meanings(question)
    sent, names = first.sent(meanings, question), first.names(meanings)
    again = SlateQuestion(question.epsilon, question.k, question.seed, (len(meanings),))
    for count in range(max(refills) + 1):
        if count in refills:
            stall = _Stall.of(scene, np.sort(here))
            filled = stall.filled(meanings, question, names)
            new = stall.meanings(again)
            yield Refilled(
                count,
                float(np.isin(first.items, here).mean()),
                stall.possible(),
                stall.got(stall.shared(question.k)[None]),
                stall.got(filled[sent]),
                stall.got(stall.filled(new, again)[stall.sent(new, again)]),
            )
        gone = rng.choice(size, size // _SHARE, replace=False)
        here = np.concatenate([np.delete(here, gone), waiting[: len(gone)]])
        waiting = waiting[len(gone) :]


def device_bytes(meanings: Meanings, scales: NDArray[np.float32]) -> int:
    """What a device holds of slates: codes and boosts."""
    codes = encode(meanings.vectors.reshape(-1, meanings.ranking_dimension), scales)
    return codes.nbytes + len(encode_boosts(meanings.boosts))


@dataclass(frozen=True, eq=False)
class _Stall:
    """Some of a scene's items, as a server has them. items: their ids in the scene. coded: the
    catalog as codes of these scales say it.
    """

    scene: Scene
    items: NDArray[np.int64] = field(repr=False)
    catalog: Catalog = field(repr=False)
    coded: Catalog = field(repr=False)
    people: PriorPeople = field(repr=False)
    scales: NDArray[np.float32] = field(repr=False)

    @classmethod
    def of(cls, scene: Scene, items: NDArray[np.int64]) -> _Stall:
        vectors, tastes = scene.dealt.vectors, scene.dealt.server.tastes
        every = np.arange(len(vectors))
        scoring = scene.truth.of_tastes(np.eye(vectors.shape[1])).of_items(every).T  # boost_i v_i
        length, boosted = (np.linalg.norm(each, axis=1) for each in (vectors, scoring))
        boosts = np.divide(boosted, length, out=np.ones_like(length), where=length > 0)
        words, boosts = tuple([Item(f"item {item}") for item in items.tolist()]), boosts[items]
        scales, own = scales_of(vectors), vectors[items]
        catalog = Catalog(words, own, boosts.astype(np.float32), ())
        coded = Catalog(words, *_coded(own, catalog.boosts, scales), ())
        m, seen = len(tastes.vectors), csr_array(tastes.people.seen[:, items])
        light = tastes.vectors.astype(np.float32)
        people = PriorPeople(light, np.zeros((m, 1)), seen, np.ones(m), "the server's people")
        return cls(scene, items, catalog, coded, people, scales)

    def meanings(self, question: SlateQuestion) -> Meanings:
        """The slates whose number suits validation's people, as devices hold them."""
        tastes = self.scene.dealt.validation.tastes.vectors
        validated = self.scene.validated.among(self.items)
        found = best_slates(question, self.catalog, self.people, tastes, validated).meanings
        return Meanings(*_coded(found.vectors, found.boosts, self.scales))

    def names(self, meanings: Meanings) -> NDArray[np.int64]:
        """The slate that each of the server's people names, (m,)."""
        tastes = self.people.tastes.astype(np.float64)
        return names_of(meanings, tastes, self.people.seen, self.coded)

    def filled(
        self,
        meanings: Meanings,
        question: SlateQuestion,
        names: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """The items of each slate for those who name it, (M, k)."""
        names = self.names(meanings) if names is None else names
        prior, response = self.people.prior(self.catalog), question.response(len(meanings))
        return self.items[prior.items[slates_of(names, prior.scores, response, question.k)]]

    def shared(self, k: int) -> NDArray[np.int64]:
        """The zero-information slate, (k,)."""
        prior = self.people.prior(self.catalog)
        return self.items[prior.items[cover(prior.scores, prior.weights.astype(np.float32), k)]]

    def sent(self, meanings: Meanings, question: SlateQuestion) -> NDArray[np.int64]:
        """The slates that clients name, with the noise, (n,)."""
        meant = self.items[meanings.found_in(self.coded.vectors)]
        tastes = self.scene.dealt.clients.tastes.vectors
        named = labels_of(meanings, tastes, self.scene.wanted.of_items(meant) < 0)
        rng = np.random.default_rng([self.scene.dealt.seed, 6])
        return response_signals(question.response(len(meanings)), named, rng)

    def got(self, slates: NDArray[np.int64]) -> Array:
        """What the best unseen item of each client's slate is worth, (n, k) or (1, k) -> (n,)."""
        rows = np.broadcast_to(slates, (len(self.scene.wanted), slates.shape[1]))
        return served_by(self.scene.wanted.at(rows))

    def possible(self) -> Array:
        """What each client's own best of these items is worth, (n,)."""
        return self.scene.wanted.best(self.items)


def _coded(
    vectors: NDArray[np.float32], boosts: NDArray[np.float32], scales: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What codes can say of vectors (..., D) and boosts (...)."""
    return rounded(vectors, scales), rounded_boosts(boosts)
