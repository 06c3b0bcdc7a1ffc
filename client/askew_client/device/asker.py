"""The one path of a question: what it costs, the signal, the connection, the ranking.

A question about titles and one near a place differ in their subject alone. What is fetched is
fetched before a cost is shown, and never between showing and asking, but for live values of
everything: they are fetched when somebody asks, where the cost that was shown says so. All that is
private is done before the connection or after it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from askew.dp.privacy import SignalCharge
from askew.errors import LedgerError, NotShown, ParameterError, WireError
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Mechanism, Query, Signal
from askew_client.settings.settings import ClientSettings, month_of
from askew_client.signals.store import SignalStore
from askew_client.storage.guard import in_thread
from askew_client.transport.protocol import Network
from askew_client.views.cost import Cost, Leaves

IN_PROCESS: Final = "in-process"  # the name of a server without an address
_SILENT = (
    "a question sends a signal now, and the last one sent nothing; `cost` says what it tells, and "
    "`shown=` asks"
)
_SECOND = (
    "this month has a fresh signal already, and another one tells more about you; `cost` says what "
    "it tells, and `shown=` asks"
)
_Value = TypeVar("_Value")
_Answer = TypeVar("_Answer")
_Answer_co = TypeVar("_Answer_co", covariant=True)


class Source(Protocol):
    """What is private, and how it makes a signal. All else of a question is the same for all."""

    @property
    def space_version(self) -> str:
        """Return what its signal is kept under, with the handle and the month."""

    @property
    def handle(self) -> str:
        """Return that of a place or value; else ""."""

    @property
    def k(self) -> int:
        """Return how many results to ask for; public."""

    @property
    def mechanism(self) -> Mechanism:
        """Return the law of a fresh signal."""

    @property
    def charge(self) -> SignalCharge:
        """Return what a fresh signal costs, by this device's own reckoning."""

    def perturb(self, bits: RandomBits) -> Signal:
        """Draw a signal, neither charged nor stored."""

    def check(self, signal: Signal) -> None:
        """Raise WireError for a stored signal that this source would not send."""


class Subject(Protocol[_Answer_co]):
    """A taste, a place or values on axes, at a server of which all is held that it needs."""

    @property
    def source(self) -> Source:
        """Return the private point, and how it makes a signal."""

    @property
    def sends(self) -> bool:
        """Return True if a signal leaves, by public numbers alone."""

    def priced(self, cost: Cost) -> Cost:
        """Return what the ledger says of its signal, with what it is about, and in words."""

    def query(self, signal: Signal) -> Query:
        """Return what is sent: public, but for the signal."""

    def drawing(self, draw: Callable[[], _Value]) -> _Value:
        """Draw, and keep what has to be found again if no answer comes."""

    async def fetch(self) -> None:
        """Fetch what a question that sends nothing still needs, the same for everybody."""

    def rank(self, reply: bytes | None, query: Query | None, cost: Cost) -> _Answer_co:
        """Rank what is held, with what the reply brought. Raises WireError for a hostile reply."""


class Question(Protocol[_Answer_co]):
    """What a person asks: something about titles, or what is near a place."""

    async def subject(self, *, fetch: bool, again: bool = False) -> Subject[_Answer_co]:
        """Bind it to what is held, fetched first where that is missing or too old.

        What is wrong with the profile or the place is raised before the first call. Raises NotShown
        where something had to be fetched and must not be. again: by the signal that was charged
        for this very spot and not answered.
        """

    async def forget(self, error: WireError) -> None:
        """Hold no longer what a server's answer did not fit."""


def draw(
    source: Source,
    month: str,
    signals: SignalStore,
    bits: RandomBits,
    check: Callable[[Cost], None] | None = None,
) -> tuple[Signal, Cost]:
    """Return the signal of this month, drawn, charged and stored in one transaction if there is
    none, and what the ledger said of it.

    A stored signal is sent again even if what is private or the settings have changed since: what
    is drawn anew costs anew, and a redraw that follows the person would say when they changed.
    check: raises, within the transaction, for a cost that the person has not agreed to.
    """
    signal, cost = signals.remember(
        source.space_version,
        month,
        source.charge,
        lambda: source.perturb(bits),
        handle=source.handle,
        check=check,
    )
    try:
        source.check(signal)
    except WireError:
        raise LedgerError("the stored signal does not fit its space; it is not sent") from None
    return signal, cost


class Asker:
    """One person's questions to one server. server: its address, which no server chooses.

    Methods raise AskewError. What goes to the network is a coroutine.
    """

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        network: Network,
        settings: ClientSettings,
        *,
        signals: SignalStore,
        bits: RandomBits,
        server: str,
        today: Callable[[], datetime.date],
    ) -> None:
        self._network, self._settings, self.server = network, settings, server
        self._signals, self._bits, self._today = signals, bits, today
        self._silent: set[type] = set()  # kinds of questions of which the last one sent nothing

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on."""
        self._settings, self._signals = settings, self._signals.with_caps(settings.caps)

    async def show(self, question: Question[object], *, again: bool = False) -> Cost:
        """Return what a question would cost now, after fetching what it needs. Nothing is drawn or
        charged.
        """
        async with self._network.turn():
            subject = await question.subject(fetch=True, again=again)
            return await in_thread(self.cost, subject)

    def cost(self, subject: Subject[object]) -> Cost:
        """Return what a question would cost now: nothing is drawn, charged, fetched or sent."""
        source, month = subject.source, month_of(self._today())
        if not subject.sends:
            return self._of(subject, Cost(Leaves.NOTHING, month=month))
        found = self._signals.cost(source.space_version, month, source.charge, handle=source.handle)
        return self._of(subject, found)

    async def ask(
        self, question: Question[_Answer], *, shown: Cost | None = None, again: bool = False
    ) -> _Answer:
        """Ask, and rank here what is held and what came.

        Which calls are made depends on the settings, the ledger and the replies, never on the
        profile. shown: what the person was shown and agreed to; NotShown is raised where the
        question would be more than that, and nothing is fetched. Without it the settings decide;
        NotShown is raised where the last question of this kind sent nothing, and for the second
        fresh signal of a taste, or of values on axes, within a month. again: send the signal of an
        unnamed spot that was charged and not answered; else a fresh one is drawn and charged.
        """
        if shown is not None and not isinstance(shown, Cost):
            raise ParameterError("shown", type(shown).__name__, "a Cost, as `cost` returns it")
        try:
            async with self._network.turn():
                subject = await question.subject(fetch=shown is None, again=again)
                agreed = self._agreed(type(question), subject, shown)
                if not subject.sends:
                    cost = self.cost(subject)
                    agreed(cost)
                    await subject.fetch()
                    return await in_thread(subject.rank, None, None, cost)
                query, request, cost = await in_thread(self._prepared, subject, agreed)
                reply = await self._network.retrieve(request)
                return await in_thread(subject.rank, reply, query, cost)
        except WireError as error:
            await question.forget(error)
            raise

    def _agreed(
        self, kind: type, subject: Subject[object], shown: Cost | None
    ) -> Callable[[Cost], None]:
        """Return what raises NotShown for a cost that the person has not agreed to."""

        def check(found: Cost) -> None:
            cost = self._of(subject, found)
            if shown is not None:
                cost.check(shown)
            elif cost.sends and kind in self._silent:
                raise NotShown(_SILENT)
            elif cost.is_second and cost.account != "places":
                raise NotShown(_SECOND)
            (self._silent.discard if cost.sends else self._silent.add)(kind)

        return check

    def _prepared(
        self, subject: Subject[object], agreed: Callable[[Cost], None]
    ) -> tuple[Query, bytes, Cost]:
        """Do all that is private of a question before its connection: charge and draw the signal,
        encode the request.
        """
        source, month = subject.source, month_of(self._today())
        with self._network.guard.private():
            signal, found = subject.drawing(
                lambda: draw(source, month, self._signals, self._bits, agreed)
            )
            query = subject.query(signal)
            return query, self._network.encoded(query), self._of(subject, found)

    def _of(self, subject: Subject[object], found: Cost) -> Cost:
        """Return what the ledger says as the cost of a question: who is asked, and about what."""
        source = subject.source
        return subject.priced(
            replace(
                found,
                server=self.server,
                authority=self._settings.authority,
                space_version=source.space_version,
                handle=source.handle,
                noise=(found.noise or source.mechanism) if found.sends else None,
            )
        )
