"""The profile on the device: what it keeps, what it hides, and what is left when it is gone."""

from __future__ import annotations

import datetime
import stat
from collections.abc import Callable
from pathlib import Path

import keyring
import keyring.backend
import pytest
from keyring.backends import fail, null
from keyring.errors import PasswordDeleteError

from askew.errors import ProfileError, VaultError
from askew.noise.randomness import SystemBits
from askew_client.profile import document as documents
from askew_client.profile import encryption as vault
from askew_client.profile.document import PastAnswer, ProfileDocument
from askew_client.profile.store import ProfileStore
from askew_client.storage.private_files import PrivateDatabase

CANARY = "Xanadu Canary (1980)"
PASSPHRASE = "correct horse battery"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A passphrase becomes a key at once; what is tested here does not depend on how slowly."""
    monkeypatch.setattr(vault, "SCRYPT_N", 2**4)


def test_a_passphrase_is_slow_to_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    """OWASP's least: N = 2**17 with r = 8, that is 128 MiB a guess."""
    monkeypatch.undo()
    assert vault.SCRYPT_N == 2**17


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "profile.sqlite"


def opened(path: Path) -> ProfileStore:
    return ProfileStore(path, SystemBits())


def rated(path: Path, **ratings: float) -> ProfileStore:
    """A store with these ratings and, always, the canary."""
    store = opened(path)
    store.change(lambda document: document.edited({CANARY: (5.0,)}))
    store.change(lambda document: document.edited({k: (v,) for k, v in ratings.items()}))
    return store


def bytes_on_disk(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(path.parent.iterdir()))


class DictKeyring(keyring.backend.KeyringBackend):
    """A keyring in a dictionary."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> DictKeyring:
    ring = DictKeyring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: ring)
    for verb in ("get_password", "set_password", "delete_password"):
        monkeypatch.setattr(keyring, verb, getattr(ring, verb))
    return ring


def without_keyring(
    monkeypatch: pytest.MonkeyPatch, backend: keyring.backend.KeyringBackend
) -> None:
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)
    for verb in ("get_password", "set_password", "delete_password"):
        monkeypatch.setattr(keyring, verb, getattr(backend, verb))


def test_a_profile_that_was_never_written_is_empty_and_makes_no_file(path: Path) -> None:
    assert opened(path).read() == ProfileDocument()
    assert not path.parent.exists()


def test_what_is_kept_comes_back(path: Path) -> None:
    past = PastAnswer(datetime.date(2026, 11, 21), "2026-11", ("A", "B"), "B")
    store = rated(path, A=2.5)
    store.change(lambda document: document.edited({"B": (None,)}).answered(past))
    document = opened(path).read()
    assert dict(document.ratings) == {CANARY: 5.0, "A": 2.5, "B": None}
    assert document.answers == (past,)
    assert len(document.edits) == 3


def test_a_profile_that_is_the_same_is_read_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: every rating read anew with every key press."""
    rated(path)
    store, read = opened(path), ProfileDocument.from_bytes
    texts: list[bytes] = []

    def counted(data: bytes) -> ProfileDocument:
        texts.append(data)
        return read(data)

    monkeypatch.setattr(ProfileDocument, "from_bytes", counted)
    assert store.read() is store.read()
    changed = store.change(lambda document: document.edited({"B": (2.0,)}))
    assert store.read() is changed
    assert len(texts) == 1
    assert opened(path).read() == changed


def test_what_another_program_wrote_is_read(path: Path) -> None:
    """Planted bug: what was read first, however the file changes."""
    store = rated(path)
    assert CANARY in store.read().ratings
    opened(path).change(lambda document: document.edited({"B": (2.0,)}))
    assert store.read().ratings == {CANARY: 5.0, "B": 2.0}
    opened(path).wipe()
    assert store.read() == ProfileDocument()


def locked_by_another(store: ProfileStore) -> None:
    opened(store.path).encrypt(PASSPHRASE)
    with pytest.raises(VaultError):
        store.read()


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.change_for_good(lambda document: document.without(bool)),
        lambda store: store.encrypt(PASSPHRASE),
        lambda store: store.wipe(),
        lambda store: store.path.unlink() or store.read(),
        lambda store: store.path.unlink() or store.wipe(),
        locked_by_another,
    ],
    ids=["forgotten", "encrypted", "wiped", "removed", "wiped twice", "encrypted by another"],
)
def test_what_was_read_is_not_kept_in_memory(
    path: Path, act: Callable[[ProfileStore], object]
) -> None:
    """Planted bugs: a forgotten title, a wiped profile, or one from before it was locked."""
    store = rated(path)
    assert CANARY in store.read().ratings
    act(store)
    assert store._last is None or store._last[1] == ProfileDocument()


def test_who_lost_the_key_reads_nothing_of_what_was_read(path: Path) -> None:
    """Planted bug: a profile that another program locked, still read from memory."""
    store = rated(path)
    assert CANARY in store.read().ratings
    locked_by_another(store)


def test_only_the_person_may_read_it(path: Path) -> None:
    rated(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_edit_that_fails_changes_nothing(path: Path) -> None:
    store = rated(path)
    with pytest.raises(ProfileError):
        store.change(lambda document: document.edited({"A": (float("nan"),)}))
    assert dict(store.read().ratings) == {CANARY: 5.0}


def test_nothing_private_prints() -> None:
    document = ProfileDocument().edited({CANARY: (4.25,)})
    key = vault.passphrase_key(PASSPHRASE, bytes(16))
    text = f"{document!r} {key!r} {key.seal(b'secret', SystemBits())!r}"
    assert not [word for word in ("Xanadu", "4.25", PASSPHRASE, "secret=") if word in text]
    assert key.secret.hex() not in text


def test_encrypting_leaves_nothing_readable_in_the_file(path: Path) -> None:
    """Planted bug: neither secure_delete nor VACUUM, each of which is enough for this."""
    store = rated(path, **{f"Title {n}": 3.0 for n in range(2000)})
    assert b"Title 7" in bytes_on_disk(path)
    store.change(lambda _: ProfileDocument().edited({CANARY: (5.0,)}))  # frees most of its pages
    store.encrypt(PASSPHRASE)
    assert CANARY.encode() not in bytes_on_disk(path)
    assert b"Title 7" not in bytes_on_disk(path)


def test_an_encrypted_profile_opens_with_its_passphrase_alone(path: Path) -> None:
    rated(path).encrypt(PASSPHRASE)
    store, before = opened(path), bytes_on_disk(path)
    assert (store.lock, store.locked) == ("passphrase", True)
    with pytest.raises(VaultError, match="passphrase is needed"):
        store.read()
    with pytest.raises(VaultError, match="wrong"):
        store.unlock(PASSPHRASE + "!")
    assert (store.locked, bytes_on_disk(path)) == (True, before)
    store.unlock(PASSPHRASE)
    assert dict(store.read().ratings) == {CANARY: 5.0}


def test_a_locked_profile_cannot_be_edited_or_encrypted_over(path: Path) -> None:
    """Planted bug: an edit that begins with an empty profile when it cannot read the old one."""
    rated(path).encrypt(PASSPHRASE)
    before = bytes_on_disk(path)
    for act in (
        lambda: rated(path),
        lambda: opened(path).encrypt("another passphrase"),
        lambda: opened(path).decrypt(),
    ):
        with pytest.raises(VaultError):
            act()
    assert bytes_on_disk(path) == before


def test_an_open_profile_stays_encrypted_when_it_is_edited(path: Path) -> None:
    store = rated(path)
    store.encrypt(PASSPHRASE)
    store.change(lambda document: document.edited({"Second Canary": (1.0,)}))
    assert b"Canary" not in bytes_on_disk(path)
    again = opened(path)
    again.unlock(PASSPHRASE)
    assert set(again.read().ratings) == {CANARY, "Second Canary"}


def sealed_size(path: Path) -> int:
    with opened(path)._file.transaction() as database:
        size: int = database.execute("SELECT length(body) FROM profile").fetchone()[0]
    return size


def test_the_size_of_an_encrypted_file_does_not_count_ratings(path: Path, tmp_path: Path) -> None:
    """Planted bug: no padding."""
    few, many = tmp_path / "few" / "p.sqlite", tmp_path / "many" / "p.sqlite"
    rated(few).encrypt(PASSPHRASE)
    rated(many, **{f"Title {n}": 3.0 for n in range(30)}).encrypt(PASSPHRASE)
    assert sealed_size(few) == sealed_size(many)
    assert few.stat().st_size == many.stat().st_size


def test_every_write_is_sealed_anew(path: Path) -> None:
    """Planted bug: a nonce that is used twice, which gives AES-GCM away."""
    key = vault.passphrase_key(PASSPHRASE, bytes(16))
    sealed = {key.seal(b"the same", SystemBits()).nonce for _ in range(50)}
    assert len(sealed) == 50


@pytest.mark.parametrize("passphrase", ["", "short", "1234567"])
def test_a_short_passphrase_is_refused_and_changes_nothing(path: Path, passphrase: str) -> None:
    store = rated(path)
    with pytest.raises(VaultError, match="at least 8 characters"):
        store.encrypt(passphrase)
    assert store.lock == "none"


@pytest.mark.parametrize("other", [("keyring", bytes(16)), ("passphrase", bytes(15) + b"1")])
def test_what_is_sealed_is_bound_to_its_lock_and_salt(other: tuple[vault.Lock, bytes]) -> None:
    """The same secret under another name does not open it. Planted bug: no associated data."""
    sealed = vault.Key("passphrase", bytes(16), bytes(32)).seal(b"a profile", SystemBits())
    with pytest.raises(VaultError, match="altered"):
        vault.Key(*other, bytes(32)).open(sealed)


def test_what_is_sealed_is_bound_to_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another format, or another program with the same key, opens nothing."""
    key = vault.Key("passphrase", bytes(16), bytes(32))
    sealed = key.seal(b"a profile", SystemBits())
    assert key.open(sealed).rstrip() == b"a profile"
    monkeypatch.setattr(vault, "_MARK", b"askew profile 2")
    with pytest.raises(VaultError, match="altered"):
        key.open(sealed)


@pytest.mark.parametrize("column", ["body", "nonce", "salt"])
def test_altered_bytes_are_refused(path: Path, column: str) -> None:
    store = rated(path)
    store.encrypt(PASSPHRASE)
    with store._file.transaction() as database:
        (value,) = database.execute(f"SELECT {column} FROM profile").fetchone()
        changed = bytes([value[0] ^ 1]) + value[1:]
        database.execute(f"UPDATE profile SET {column} = ?", (changed,))
    with pytest.raises(VaultError):
        opened(path).unlock(PASSPHRASE)


def test_decrypting_gives_the_same_profile_back(path: Path) -> None:
    store = rated(path)
    store.encrypt(PASSPHRASE)
    store.decrypt()
    assert dict(opened(path).read().ratings) == {CANARY: 5.0}


def test_a_key_in_the_keyring_opens_without_a_question(path: Path, ring: DictKeyring) -> None:
    rated(path).encrypt(None)
    store = opened(path)
    assert (store.lock, store.locked) == ("keyring", False)
    assert dict(store.read().ratings) == {CANARY: 5.0}
    assert CANARY.encode() not in bytes_on_disk(path)
    ring.kept.clear()
    with pytest.raises(VaultError, match="does not have this profile's key"):
        opened(path).read()


def test_a_key_is_forgotten_when_it_is_not_used_any_more(path: Path, ring: DictKeyring) -> None:
    store = rated(path)
    store.encrypt(None)
    store.encrypt(PASSPHRASE)
    assert ring.kept == {}
    store.encrypt(None)
    store.wipe()
    assert ring.kept == {}


@pytest.mark.parametrize("act", [ProfileStore.wipe, ProfileStore.decrypt])
def test_a_key_is_forgotten_where_the_file_cannot_be_erased(
    path: Path, ring: DictKeyring, monkeypatch: pytest.MonkeyPatch, act: Callable[..., None]
) -> None:
    """What is left of the old file can then not be read. Planted bug: forgetting it afterwards."""
    store = rated(path)
    store.encrypt(None)

    def not_now(_: PrivateDatabase) -> None:
        raise ProfileError("another program is reading")

    monkeypatch.setattr(PrivateDatabase, "purge", not_now)
    with pytest.raises(ProfileError):
        act(store)
    assert ring.kept == {}


@pytest.mark.parametrize("backend", [fail.Keyring, null.Keyring], ids=["none", "null"])
def test_without_a_keyring_a_passphrase_is_asked_for_and_nothing_changes(
    path: Path, monkeypatch: pytest.MonkeyPatch, backend: type[keyring.backend.KeyringBackend]
) -> None:
    """Planted bug: trusting a keyring that keeps nothing, and so losing the profile."""
    without_keyring(monkeypatch, backend())
    store = rated(path)
    with pytest.raises(VaultError, match=r"use a passphrase|does not have"):
        store.encrypt(None)
    assert (store.lock, vault.keyring_name()) == ("none", None)


def test_wiping_leaves_no_file_and_works_without_the_passphrase(path: Path) -> None:
    rated(path).encrypt(PASSPHRASE)
    opened(path).wipe()
    assert list(path.parent.iterdir()) == []
    assert opened(path).read() == ProfileDocument()


def test_wiping_overwrites_before_it_removes(path: Path, tmp_path: Path) -> None:
    """What another name of the same file still shows afterwards. Planted bug: unlink alone."""
    store = rated(path, **{f"Title {n}": 3.0 for n in range(500)})
    other = tmp_path / "other-name"
    other.hardlink_to(path)
    store.wipe()
    assert CANARY.encode() not in other.read_bytes()
    assert b"Title 7" not in other.read_bytes()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"ratings": {"a": "b"}, "edits": [], "answers": []}', b"\xff"]
)
def test_a_damaged_profile_is_refused_and_stays(path: Path, body: bytes) -> None:
    store = rated(path)
    with store._file.transaction() as database:
        database.execute("UPDATE profile SET body = ?", (body,))
    with pytest.raises(ProfileError, match="damaged"):
        rated(path)
    with pytest.raises(ProfileError, match="damaged"):
        opened(path).encrypt(PASSPHRASE)
    with opened(path)._file.transaction() as database:
        assert database.execute("SELECT body FROM profile").fetchone() == (body,)


def test_another_programs_file_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("title,rating\n")
    with pytest.raises(ProfileError):
        opened(path).read()
    assert path.read_text() == "title,rating\n"


def test_a_wipe_that_cannot_remove_the_file_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: an OSError, which no screen expects, ends the app in the middle of a wipe."""
    store = opened(path)
    store.change(lambda document: document)

    def refused(path: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(ProfileError, match="is empty and cannot be removed: Permission denied"):
        store.wipe()


def test_a_profile_has_an_end_and_what_is_beyond_it_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read before each question is bounded. Planted bug: no bound of what one rates."""
    monkeypatch.setattr(documents, "MAX_RATINGS", 10)
    store = rated(path)
    store.change(lambda document: document.edited({f"Film {n}": (3.0,) for n in range(9)}))
    full = store.read()
    with pytest.raises(ProfileError, match="at most 10 ratings"):
        store.change(lambda document: document.edited({"One more": (3.0,)}))
    assert opened(path).read() == full
    assert len(full.edited({CANARY: (1.0,)}).ratings) == 10


def test_the_edits_that_can_be_undone_have_an_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bugs: an import that keeps what it did not change, every week; imports of all that a
    profile holds, two hundred times.
    """
    monkeypatch.setattr(documents, "MAX_RATINGS", 10)
    document = ProfileDocument()
    for week in range(30):
        document = document.edited({f"Film {n}": (float(week if n < 3 else 1),) for n in range(9)})
    assert [len(edit) for edit in document.edits] == [3, 3, 3]
    before, changed = document.undone()
    assert (before.ratings["Film 0"], before.ratings["Film 8"], changed) == (28.0, 1.0, 3)
    emptied = document.edited({f"Film {n}": () for n in range(9)})
    assert [len(edit) for edit in emptied.edits] == [9]
    assert emptied.undone()[0].ratings == document.ratings
