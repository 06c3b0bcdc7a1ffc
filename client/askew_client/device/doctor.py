"""What `askew doctor` looks at: each check is a finding with a hint, and changes nothing."""

from __future__ import annotations

import datetime
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from askew.errors import AskewError, ParameterError
from askew.protocol.metric_card import MetricCard
from askew.protocol.model_card import ModelCard
from askew_client.profile.store import ProfileStore
from askew_client.settings.paths import DeviceFiles
from askew_client.settings.settings import LEVELS, ClientSettings, month_of
from askew_client.signals.account import months_between
from askew_client.signals.store import MAX_JUMP, SignalStore
from askew_client.taste.choice import CachedItems, choose, mechanism_for
from askew_client.taste.words import in_words

Health = Literal["ok", "warn", "fail"]
_EARLIEST_YEAR = 2026  # nobody ran this program before
_ACCEPT = "`askew budget --accept` continues here, and books what was lost."


@dataclass(frozen=True)
class Finding:
    """One check: its name, how it went, what was seen, and what to do if it did not go well."""

    name: str
    health: Health
    text: str
    hint: str = ""


def check_space(card: ModelCard, settings: ClientSettings) -> Finding:
    """Whether this device asks this server by its settings."""
    try:
        mechanism_for(card, settings)
    except ParameterError as error:
        health: Health = "fail" if settings.mode == "query" else "warn"  # else none is needed
        return Finding("space", health, str(error), "Ask another server, or change the setting.")
    reach = card.space.encoder.reach()
    text = f"diameter {float(reach.diameter):.3g}, one rating moves {float(reach.one_rating):.3g}"
    return Finding("space", "ok", text)


def check_mode(
    card: ModelCard, settings: ClientSettings, held: CachedItems, *, server: str, month: str
) -> Finding:
    """How `askew ask` would be answered, and why."""
    try:
        taken = in_words(choose(settings, card, held, server=server, month=month), card)
    except ParameterError as error:
        return Finding("mode", "fail", str(error), "Take another mode, or change the setting.")
    return Finding("mode", "ok", f"{taken.name}: {taken.reason}", " ".join(taken.notes))


def check_metric_space(card: MetricCard, settings: ClientSettings) -> Finding:
    """Whether this device asks this server's collections by its settings."""
    names = [each.name for each in card.collections]
    small = [name for name in names if card.largest_slate(name) < settings.near_k]
    if len(small) == len(names):
        most = max(map(card.largest_slate, names))
        text = f"near_k is {settings.near_k}, and it answers at most {most}"
        return Finding("space", "fail", text, "Ask another server, or change the setting.")
    text = f"collections to ask near a place: {', '.join(n for n in names if n not in small)}"
    if small:
        text += f"; that answer fewer than near_k, {settings.near_k}: {', '.join(small)}"
    return Finding("space", "ok", text)


def check_named_places(profile: ProfileStore, signals: SignalStore, path: Path) -> Finding:
    """Whether every named position has its noisy one. Looks without making a file, and at nothing
    of an encrypted profile.
    """
    try:
        if profile.locked:
            return Finding("places", "ok", "encrypted with the profile")
        places = [*profile.read().places.values()]
        positions = [each.handle for each in places if each.is_position]
        lost = [each for each in positions if not (path.exists() and signals.signals_of(each))]
    except AskewError as error:
        return Finding("places", "fail", str(error))
    if lost:
        text = f"{len(lost)} of {len(places)} have no noisy position in the ledger"
        hint = "`askew place move` draws, and charges, a new one."
        refused = path.exists() and signals.account().refused
        return Finding("places", "fail", text, _ACCEPT if refused else hint)
    return Finding("places", "ok", f"{len(places)} named")


def check_ledger(store: SignalStore, path: Path) -> Finding:
    """Whether the ledger agrees with its mark and is not spent. Looks without making a file."""
    if not path.exists():
        return Finding("ledger", "ok", "nothing was ever spent here")
    try:
        account = store.account()
    except AskewError as error:
        hint = "Move it away; `askew budget --accept` then books what its mark knows."
        return Finding("ledger", "fail", str(error), hint)
    spent = (
        f"{float(account.spent):.4g} of {float(account.caps.lifetime):g} spent between any two "
        f"people, {float(account.spent_per_km):.4g} of {float(account.caps.places_lifetime):g} "
        "per km on places"
    )
    if account.refused:
        return Finding("ledger", "fail", f"nothing is spent: {account.refused}", _ACCEPT)
    if account.spent >= account.caps.lifetime:
        return Finding("ledger", "warn", spent, "The lifetime cap is reached.")
    if account.spent_per_km + min(LEVELS.values()) > account.caps.places_lifetime:
        text = "The lifetime cap of places leaves no new one, at any level."
        return Finding("ledger", "warn", spent, text)
    return Finding("ledger", "ok", f"{spent}, {len(account.entries)} entries")


def check_profile(store: ProfileStore) -> Finding:
    """Whether the profile can be read, and how it is kept."""
    try:
        kept = "in the clear" if store.lock == "none" else f"encrypted ({store.lock})"
        if store.locked:
            return Finding("profile", "ok", kept)
        document = store.read()
    except AskewError as error:
        return Finding("profile", "fail", str(error), "Restore it from a backup, or wipe it.")
    if not document.ratings:
        hint = "`askew profile add` or `askew profile import` rates titles."
        return Finding("profile", "warn", "nothing is rated yet", hint)
    return Finding("profile", "ok", f"{len(document.ratings)} ratings, {kept}")


def check_clock(store: SignalStore, path: Path, today: datetime.date) -> Finding:
    """Whether the calendar agrees with the ledger's own."""
    if today.year < _EARLIEST_YEAR:
        return Finding("clock", "fail", f"it says {today}", "Set the clock.")
    try:
        entries = store.entries() if path.exists() else ()
    except AskewError:
        entries = ()
    if entries:
        ahead = months_between(entries[-1].month, month_of(today))
        if ahead < 0:
            text = f"it says {today}, before the ledger's last entry of {entries[-1].month}"
            return Finding("clock", "warn", text, "Set the clock; until then nothing is drawn.")
        if ahead > MAX_JUMP:
            text = f"it says {today}, long after the ledger's last entry of {entries[-1].month}"
            hint = "If the date is right, accept it with `askew budget --accept`."
            return Finding("clock", "warn", text, hint)
    return Finding("clock", "ok", f"it says {today}")


def check_modes(places: DeviceFiles) -> Iterator[Finding]:
    """Whether anybody else may read or change the files of this person."""
    files = [path for path in (places.profile, places.ledger, places.mark) if path.exists()]
    directories = {path.parent for path in files}
    for path in [*sorted(directories), *files]:
        mode, owner = stat.S_IMODE(path.stat().st_mode), path.stat().st_uid
        wanted = 0o700 if path.is_dir() else 0o600
        name = f"mode of {path}"
        if hasattr(os, "geteuid") and owner != os.geteuid():
            yield Finding(name, "fail", "it belongs to somebody else", f"chown it: {path}")
        elif mode & ~wanted:
            yield Finding(name, "fail", f"{mode:o}", f"chmod {wanted:o} {path}")
        else:
            yield Finding(name, "ok", f"{mode:o}")


def check_places(places: DeviceFiles) -> Iterator[Finding]:
    """Whether files can be kept where they are looked for."""
    for directory in sorted({path.parent for path in (places.ledger, places.mark)}):
        found = next(each for each in (directory, *directory.parents) if os.path.lexists(each))
        if not (found.is_dir() and os.access(found, os.W_OK | os.X_OK)):
            text = f"nothing can be written in {directory}"
            yield Finding("place", "fail", text, "Without a ledger nothing is asked; use --data.")


def check_keyring(name: str | None) -> Finding:
    """Whether a key could be kept in the system's keyring."""
    if name is None:
        hint = "`askew profile encrypt` works with a passphrase."
        return Finding("keyring", "warn", "there is none here", hint)
    return Finding("keyring", "ok", name)
