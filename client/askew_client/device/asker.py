"""The one path of a question: what it costs, the signal, the connection, the ranking.

A question about titles and one near a place differ in their subject alone. What is fetched is
fetched before a cost is shown, and never between showing and asking, but for live values of
everything: they are fetched when somebody asks, where the cost that was shown says so. All that is
private is done before the connection or after it.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from askew.errors import LedgerError, NotShown, ParameterError, WireError
from askew.noise.randomness import RandomBits
from askew.protocol.signal import Query, Signal
from askew_client.settings.settings import ClientSettings, month_of
from askew_client.signals.store import SignalStore
from askew_client.storage.guard import in_thread
from askew_client.views.cost import Cost, Leaves

if TYPE_CHECKING:
    from askew_client.device.model import Exchange  # brings numpy
    from askew_client.near.sources import NearSource
    from askew_client.transport.protocol import Network

    # What is private, and how it makes a signal. All else of a question is the same for all.
    Source = Exchange | NearSource

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


class Subject(ABC, Generic[_Answer_co]):
    """A taste, a place or values on axes, at a server of which all is held that it needs.

    source: the private point, and the law by which a signal is drawn from it. sends: whether the
    question sends a signal, or what is held answers it; by public numbers alone.
    """

    source: Source
    sends: bool

    @abstractmethod
    def priced(self, cost: Cost) -> Cost:
        """Return this cost with what the ledger does not know: `reason`, in words how the question
        is answered; of a taste also median, diameter and wanted (else 0); of a place its
        collection, and where they differ, what `leaves` and `handle`.
        """

    @abstractmethod
    def query(self, signal: Signal) -> Query:
        """Return the question that is sent with this signal: public, but for the signal."""

    def drawing(self, draw: Callable[[], _Value]) -> _Value:
        """Return `draw()`, called once. For a spot without a name, also keep in the profile where
        it was, to be found again if no answer comes; of a taste nothing.
        """
        return draw()

    async def fetch(self) -> None:
        """Fetch the live values that a question near a place may need where it sends nothing, the
        same for everybody; of a taste do nothing. Return None.
        """

    @abstractmethod
    def rank(self, reply: bytes | None, query: Query | None, cost: Cost) -> _Answer_co:
        """Return the answer, of titles an Answer, near a place a tuple of NearAnswer: what is held,
        and what the reply brought, ranked in private. reply, query: None where nothing was sent.
        Raises WireError for a hostile reply.
        """


class Question(Protocol[_Answer_co]):
    """What a person asks: something about titles, or what is near a place."""

    async def subject(self, *, fetch: bool, again: bool = False) -> Subject[_Answer_co]:
        """Return the Subject of this question: the private point, bound to what is held. What is
        missing or too old is fetched first if `fetch`, else NotShown is raised.

        A profile that cannot be read, and a place that needs no card to be refused, is raised
        before the first call. again: by the signal that was charged for this very spot without a
        name and not answered; changes nothing for a taste or a name.
        """

    async def forget(self, error: WireError) -> None:
        """Drop what is held of the server, after an answer that did not fit it: of places for any
        error, of titles for a StaleSpace alone. error: what was raised for that answer.
        """


def draw(
    source: Source,
    month: str,
    signals: SignalStore,
    bits: RandomBits,
    check: Callable[[Cost], None] | None = None,
) -> tuple[Signal, Cost]:
    """Return this month's signal, and its cost as the ledger stood before: a stored one for
    nothing, a place's of any month; where there is none, one is drawn, charged and stored in one
    transaction.

    A stored signal is sent again even if what is private or the settings have changed since: what
    is drawn anew costs anew, and a redraw that follows the person would say when they changed.
    check: raises, within the transaction, for a cost that the person has not agreed to. Raises as
    `SignalStore.remember`, and LedgerError for a stored signal that does not fit its space.
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
        """Replace the settings, and the caps of the ledger with them, from now on."""
        self._settings, self._signals = settings, self._signals.with_caps(settings.caps)

    async def show(self, question: Question[object], *, again: bool = False) -> Cost:
        """Return what a question would cost now, as `cost`, after fetching what it needs but for
        live values. Nothing is drawn or charged; a cap that would refuse it stands in `refused`.
        """
        async with self._network.turn():
            subject = await question.subject(fetch=True, again=again)
            return await in_thread(self.cost, subject)

    def cost(self, subject: Subject[object]) -> Cost:
        """Return what the question about this subject would cost now, with server, authority,
        space, handle, noise and words; leaves is NOTHING or REQUEST, and the charge 0, where no
        signal is sent. Nothing is drawn, charged, fetched or sent.
        """
        source, month = subject.source, month_of(self._today())
        if not subject.sends:
            return self._of(subject, Cost(Leaves.NOTHING, month=month))
        found = self._signals.cost(source.space_version, month, source.charge, handle=source.handle)
        return self._of(subject, found)

    async def ask(
        self, question: Question[_Answer], *, shown: Cost | None = None, again: bool = False
    ) -> _Answer:
        """Return the answer to a question, with what is held and what came ranked here: of titles
        an Answer, near a place a tuple of NearAnswer.

        Which calls are made depends on the settings, the ledger and the replies, never on the
        profile. shown: the cost that the person was shown and agreed to; NotShown is raised where
        the question would tell more than that, or anything but live values had to be fetched.
        Without it the settings decide; NotShown is raised where the last question of this kind
        (titles, or near a place) sent nothing and this one sends, and for the second fresh signal
        of a taste, or of values on axes, within a month. again: send the signal of an unnamed spot
        that was charged and not answered; else a fresh one is drawn and charged. Raises also as
        `SignalStore.remember`, and ParameterError where `shown` is no Cost.
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
        # All that is private of a question is done here, before its connection.
        source, month = subject.source, month_of(self._today())
        with self._network.guard.private():
            signal, found = subject.drawing(
                lambda: draw(source, month, self._signals, self._bits, agreed)
            )
            query = subject.query(signal)
            return query, self._network.encoded(query), self._of(subject, found)

    def _of(self, subject: Subject[object], found: Cost) -> Cost:
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
