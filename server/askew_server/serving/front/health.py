"""Whether each service can answer now, for gRPC's health checks and for whoever else asks.

A state is kept, not made when it is asked for: a check never waits for a disk, however many ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from askew_server.serving.front.quiet_health import QuietHealth, State
from askew_server.serving.observing.observer import Observer
from askew_server.serving.services.call import Service

ALL = ""
"""The name under which gRPC asks for a server as a whole."""


@runtime_checkable
class Checked(Protocol):
    """A service that may become unable to answer while it runs, as when its file is gone."""

    def check(self) -> None:
        """Raises what makes it unable to answer, if anything does. May read files."""


class Health:
    """The state of each service: none answers before the server does, nor while it stops."""

    def __init__(self, services: Sequence[Service], observer: Observer) -> None:
        self.told = QuietHealth()
        self._observer = observer
        self._checked = {each.name: each for each in services if isinstance(each, Checked)}
        self._serving = {each.name: False for each in services}
        self._stopping = False
        observer.healths = lambda: self._serving
        self._publish()

    async def ready(self) -> None:
        """The server answers: look at what each service needs, and say so."""
        self._serving = {name: await self._is_good(name) for name in self._serving}
        self._publish()

    async def look(self) -> None:
        """Tells what has changed since the last look. To be called every few seconds."""
        for name in self._checked:
            good = await self._is_good(name)
            if good != self._serving[name] and not self._stopping:
                self._serving[name] = good
                self._observer.log.tell("health_changed", service=name, serving=good)
                self._publish()

    def stop(self) -> None:
        """Nothing is serving any more, whatever is found later."""
        self._stopping = True
        self._serving = dict.fromkeys(self._serving, False)
        self._publish()

    async def _is_good(self, name: str) -> bool:
        service = self._checked.get(name)
        if service is not None:
            try:
                await asyncio.to_thread(service.check)
            except Exception:  # whatever it is: it cannot answer
                return False
        return True

    def _publish(self) -> None:
        states = {**self._serving, ALL: all(self._serving.values())}
        self.told.tell(
            {name: State.SERVING if good else State.NOT_SERVING for name, good in states.items()}
        )
