"""When a lane began to refuse calls, and when it ended: two lines, however many were refused."""

from __future__ import annotations

from collections.abc import Callable

from askew_server.serving.observing.observer import Observer

_OVER = 60.0  # seconds without a refusal, after which an overload has ended


class Overloads:
    """Looks at an observer's lanes now and then. clock: seconds, never going back."""

    def __init__(self, observer: Observer, clock: Callable[[], float]) -> None:
        self._observer, self._clock = observer, clock
        self._seen = {lane: each.refused for lane, each in observer.lanes.items()}
        self._under_way: dict[str, tuple[float, float, int]] = {}  # began, latest, refused before

    def look(self) -> None:
        """Tells of what began or ended since the last look."""
        for lane, places in self._observer.lanes.items():
            before, now = self._seen.get(lane, 0), self._clock()
            self._seen[lane] = places.refused
            if places.refused > before:
                self._refusing(lane, before, now)
            elif lane in self._under_way and now - self._under_way[lane][1] >= _OVER:
                self._over(lane)

    def _refusing(self, lane: str, before: int, now: float) -> None:
        if lane not in self._under_way:
            self._observer.log.tell("overload_began", lane=lane)
        began, _, refused = self._under_way.get(lane, (now, now, before))
        self._under_way[lane] = (began, now, refused)

    def _over(self, lane: str) -> None:
        began, latest, before = self._under_way.pop(lane)
        count, seconds = self._seen[lane] - before, round(latest - began)
        self._observer.log.tell("overload_ended", lane=lane, count=count, seconds=seconds)
