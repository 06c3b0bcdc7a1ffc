"""One person's side of the exchange, without I/O: the signal, and the ranking of an answer.

What a signal costs, and how many results it asks for, the settings say alone: a server's card can
make that none is sent, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST
from askew.dp.privacy import SignalCharge
from askew.errors import Malformed, ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Ranking, Slate, rank, rank_all
from askew.protocol.signal import Signal
from askew.spaces.vectors import Profile, fold_in
from askew_client.settings.settings import ClientSettings
from askew_client.storage.guard import Guard


@dataclass(frozen=True, eq=False)
class Exchange:
    """A person, a model and the device's settings.

    Whether it can ask, and what it does until an answer is there, depends on the card and the
    settings alone: any ratings of the catalog's items on its scale make a profile, and so does an
    empty set of ratings. catalog: what the device holds, and behind that what it met. n_held: how
    many it holds, all by default; contributions: the encoder's, of all of the catalog, where they
    were made before; both public. catalog_date: the Monday of what is held. unused: ratings of
    titles that are not known here. guard: keeps what is private apart from open connections; each
    method that reads the profile raises ConnectionOpen while there is one.
    """

    card: ModelCard
    catalog: Catalog
    settings: ClientSettings
    ratings: Mapping[int, float] = field(repr=False)
    contributions: NDArray[np.float64] | None = field(default=None, repr=False)
    catalog_date: int = FIRST
    n_held: int | None = None
    unused: int = field(default=0, repr=False)
    guard: Guard = field(default_factory=Guard, repr=False)
    profile: Profile = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute the profile from the ratings. Raises ProfileError for a rating off scale."""
        vectors, space = self.catalog.vectors, self.card.space
        with self.guard.private():
            profile = fold_in(self.ratings, vectors, space, contributions=self.contributions)
        object.__setattr__(self, "profile", profile)

    @cached_property
    def mechanism(self) -> LatticeLaplace:
        """Return the law of the noise by which a fresh signal is drawn. Raises ParameterError as
        `noise_for`.
        """
        return noise_for(self.card, self.settings)

    @property
    def space_version(self) -> str:
        """Return the version of the server's space: a taste's signal cannot belong to the person
        alone.
        """
        return self.card.space.version

    @property
    def handle(self) -> str:
        """Return "": a person has one taste, so the ledger needs no handle to find its signal."""
        return ""

    @property
    def charge(self) -> SignalCharge:
        """Return the charge of a fresh signal, epsilon of one rating, by this device's own
        reckoning.
        """
        return self.mechanism.charge

    @property
    def k(self) -> int:
        """Return how many results a question asks for, by the settings."""
        return self.settings.k

    def check(self, signal: Signal) -> None:
        """Raise WireError unless the signal has as many numbers as the space; else return None."""
        signal.check(self.card.space.dimension)

    def perturb(self, bits: RandomBits) -> Signal:
        """Draw and return a noisy signal of the profile's point, neither charged nor stored."""
        noise, profile = self.mechanism, self.profile
        with self.guard.private():
            values = noise.perturb(profile.point, bits)
        return Signal(self.card.space.version, noise, values)

    def rank(self, slate: Slate) -> Ranking:
        """Return the slate, ranked by the true profile; the ranking names the pick. Never sent.

        Raises Malformed for a slate that scores what the device holds in another way.
        """
        self.check_slate(slate)
        with self.guard.private():
            shared = self.catalog.shared_slate
            return rank(slate, self.profile, seen=self.ratings.keys(), shared=shared)

    def check_slate(self, slate: Slate) -> None:
        """Raise Malformed for a slate that scores an item that the device holds in another way than
        the catalog does; else return None.
        """
        n_held = len(self.catalog) if self.n_held is None else self.n_held
        held = [(at, item) for at, item in enumerate(slate.item_ids) if item < n_held]
        rows, items = [at for at, _ in held], [item for _, item in held]
        if not np.array_equal(slate.scoring[rows], self.catalog.scoring[items]):
            raise Malformed("the answer scores items in another way than the catalog does")

    def rank_all(self, count: int) -> Ranking:
        """Return the best `count` of all items that the device holds or received, ranked by the
        true profile, rated ones last. Never sent.
        """
        with self.guard.private():
            return rank_all(self.catalog, self.profile, count, seen=self.ratings.keys())


def noise_for(card: ModelCard, settings: ClientSettings) -> LatticeLaplace:
    """Return the law of the noise by which these settings ask this server, for epsilon_per_rating.

    The rate is the person's setting, whatever the card says: by a server's numbers it would mark
    the device. Raises ParameterError when the server cannot answer k results, or where the noise
    would tell more than the settings say: one rating moves a point by more than 1, or the space is
    wider than max_ratings_apart.
    """
    if settings.k > card.max_slate_size:
        limit = f"at most what this server answers, {card.max_slate_size}"
        raise ParameterError("k", settings.k, limit)
    encoder = card.space.encoder
    if encoder.one_rating > 1:
        name = "how far one rating moves a point"
        raise ParameterError(name, float(encoder.one_rating), "at most 1, so that it is one rating")
    if encoder.diameter > settings.max_ratings_apart:
        limit = f"at most this device's limit, {settings.max_ratings_apart:g} ratings"
        raise ParameterError("the feature space's diameter", float(encoder.diameter), limit)
    return LatticeLaplace.for_epsilon(settings.epsilon_per_rating)
