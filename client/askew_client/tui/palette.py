"""What the command palette offers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.app import SystemCommand
from textual.screen import Screen

from askew_client.tui.desk import Desk
from askew_client.tui.screens.frame import TABS, FrameScreen


def commands_of(desk: Desk, screen: Screen[object]) -> Iterator[SystemCommand]:
    """Every screen, what the one that shows can do, and what always works."""
    for tab in TABS:
        yield SystemCommand(f"Go to {tab.title}", tab.says, partial(desk.action_go, tab.mode))
    if isinstance(screen, FrameScreen):
        yield SystemCommand("Help", "What this screen is for, and its keys", screen.explain)
        yield from screen.commands()
    yield SystemCommand("Connect again", "Fetch card and catalog once more", desk.connect)
    yield SystemCommand("Light or dark", "The other of the two themes", desk.action_flip_theme)
    yield SystemCommand("Quit", "Leave; nothing is lost", desk.action_quit)
