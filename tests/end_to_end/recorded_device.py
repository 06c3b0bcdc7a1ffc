"""A person's device as a program: some questions near home in a row, and the end of the process.

    recorded_device.py ADDRESS DIRECTORY PERSON AUTHORITY QUESTIONS INTERVAL WORK ROUNDS

PERSON is "plain", or "picky": with filters, preferences and ratings. AUTHORITY: as in the settings,
"" for plain text. WORK: seconds that the choice of the pick takes longer, of the picky one alone:
planted, so that it can be heard if it is. ROUNDS: how often the device is opened for so many
questions.
Prints the seconds at its end.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from askew.spaces.map import Position
from askew_client import BlockingClient
from askew_client.device import nearby
from askew_client.near.pick import NO_PREFERENCES, Preferences
from askew_client.settings.settings import ClientSettings

PICKY = Preferences(
    likes={"cuisine": {"thai": 5.0, "greek": -3.0}},
    only={"cuisine": frozenset({"thai", "greek"})},
    at_most={"price": 20.0},
    open_now=True,
    ratings=3.0,
)


def main(address: str, directory: str, person: str, authority: str, *numbers: str) -> None:
    questions, interval, work = int(numbers[0]), float(numbers[1]), float(numbers[2])
    rounds = int(numbers[3])
    preferences = PICKY if person == "picky" else NO_PREFERENCES
    judged = vars(nearby)["judged"]

    def slowly(*arguments: Any) -> Any:
        time.sleep(work if person == "picky" else 0.0)
        return judged(*arguments)

    vars(nearby)["judged"] = slowly
    settings = ClientSettings(region="DE", near_k=20, interval=interval, authority=authority)
    with BlockingClient(settings, server=address, directory=Path(directory)) as client:
        client.places.add("home", Position(52.52, 13.405))
        for title in [f"Item {i}" for i in range(60 if person == "picky" else 0)]:
            client.rate(title, 4)
    for _ in range(rounds):
        with BlockingClient(settings, server=address, directory=Path(directory)) as client:
            for _ in range(questions):
                client.near("places", preferences=preferences)
    sys.stdout.write(str(time.monotonic()))


if __name__ == "__main__":
    main(*sys.argv[1:])
