"""All that a screen or a command does for a person, without a screen: the facade of the device.

Built from a transport, two stores, the settings, a source of randomness and a calendar, all
arguments. What goes to the network is a coroutine and returns an outcome or a Setback; what stays
on the device is a plain method, quick enough for a key press unless it says otherwise, and raises
AskewError (`setback_of` turns that into something to show). Methods may be called from any thread.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction

from askew.randomness import RandomBits
from askew_client.outcomes import (
    Answer,
    Bar,
    Budget,
    Connection,
    Forecast,
    Match,
    NoisePicture,
    PastAnswer,
    Rated,
    Setback,
    SharedAnswer,
    Title,
)
from askew_client.profile_store import ProfileStore
from askew_client.settings import ClientSettings
from askew_client.signal_store import SignalStore
from askew_client.transport import Transport


class Companion:
    """One person's device, connected to one server."""

    def __init__(
        self,
        transport: Transport,
        settings: ClientSettings,
        *,
        profile: ProfileStore,
        signals: SignalStore,
        bits: RandomBits,
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        """`open_companion` in `client` builds one with a real network and real stores."""

    # The network

    async def connect(self) -> Connection | Setback:
        """Fetch the card and the whole catalog; everything but the profile waits for this.

        Calling it again fetches again, after a StaleSpace for example.
        """
        raise NotImplementedError

    async def ask(self) -> Answer | SharedAnswer | Setback:
        """This slot's question, its private ranking and the pick. Connects first if need be.

        A person who has rated nothing gets the SharedAnswer: nothing is drawn, charged or sent.
        """
        raise NotImplementedError

    # Settings

    @property
    def settings(self) -> ClientSettings:
        """The settings in force."""
        raise NotImplementedError

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on, on this device object only (`config` keeps them)."""
        raise NotImplementedError

    # The catalog and the profile

    @property
    def connection(self) -> Connection | None:
        """What the server said of itself, or None before `connect`."""
        raise NotImplementedError

    def search(self, text: str, limit: int = 50) -> tuple[Match, ...]:
        """Titles of the connected catalog that contain every word of `text`, best match first.

        Stays on the device: the catalog is fetched whole. No text finds the first titles.
        """
        raise NotImplementedError

    def ratings(self) -> tuple[Rated, ...]:
        """Everything that the person rated or liked, newest first."""
        raise NotImplementedError

    def rate(self, label: str, rating: float) -> None:
        """Rate a title on the server's scale. Raises ProfileError, which names no title."""
        raise NotImplementedError

    def like(self, label: str) -> None:
        """Like a title, without a number."""
        raise NotImplementedError

    def unrate(self, label: str) -> None:
        """Forget a rating. One that does not exist is no error."""
        raise NotImplementedError

    def undo(self) -> int:
        """Take the last edit back, an import being one; how many ratings changed, 0 for none."""
        raise NotImplementedError

    def bars(self) -> tuple[Bar, ...]:
        """The private profile, a bar for each number; empty when nothing is rated."""
        raise NotImplementedError

    # Before anything is sent

    def forecast(self, epsilon: Fraction, k: int, draws: int = 200) -> Forecast:
        """What epsilon and k would give this person. Takes up to a second: call it in a thread.

        Raises ParameterError for an epsilon or k out of range, ProfileError when nothing is rated.
        """
        raise NotImplementedError

    def noise(self, epsilon: Fraction, k: int) -> NoisePicture:
        """The noise density and the k offsets, to be drawn. Public; needs a connection."""
        raise NotImplementedError

    # The budget and the past

    def budget(self) -> Budget:
        """The meter, every line of the ledger and what they mean in words."""
        raise NotImplementedError

    def unfreeze(self) -> Budget:
        """Accept the ledger as it is after a freeze, and book what was lost. The person's act."""
        raise NotImplementedError

    def history(self) -> tuple[PastAnswer, ...]:
        """Earlier answers, newest first; kept on this device only."""
        raise NotImplementedError

    def forget_history(self) -> None:
        """Forget every earlier answer."""
        raise NotImplementedError

    # The profile at rest

    @property
    def locked(self) -> bool:
        """Whether the profile is encrypted and its passphrase was not given yet."""
        raise NotImplementedError

    def unlock(self, passphrase: str) -> None:
        """Open an encrypted profile. Takes about half a second. Raises VaultError."""
        raise NotImplementedError

    def encrypt(self, passphrase: str) -> None:
        """Encrypt the profile and the history with a passphrase. Raises VaultError."""
        raise NotImplementedError

    def decrypt(self) -> None:
        """Keep the profile in the clear again; it must be open."""
        raise NotImplementedError

    def wipe(self) -> None:
        """Forget the profile and the history for good. The ledger stays: it counts what left."""
        raise NotImplementedError

    def shared_titles(self) -> tuple[Title, ...]:
        """What anybody is shown, from the connected catalog."""
        raise NotImplementedError
