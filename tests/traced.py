"""A process that is watched at its system calls: what it changes of the file system, in order, and
a kill or a full disk at any of them. And the disks that a power loss may leave of such a record.

It watches by ptrace, below SQLite and Python, so what runs is the program as it is.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest

# The calls of Linux on x86-64 that change a file system; those of SQLite and Python among them.
_WRITE, _PWRITE, _OPEN, _OPENAT = 1, 18, 2, 257
_SYNCS = {74, 75}
_TRUNCATE, _ALLOCATE = 77, 285
_RENAME, _UNLINK, _MKDIR = 82, 87, 83
_FILES = {_WRITE, _PWRITE, _TRUNCATE, _ALLOCATE, *_SYNCS}
_NAMES = {_OPEN, _OPENAT, _RENAME, _UNLINK, _MKDIR}
_GROWS = {_WRITE, _PWRITE, _TRUNCATE, _ALLOCATE, _OPEN, _OPENAT, _RENAME, _MKDIR}
_UNSUPPORTED = {20, 76, 264, 316, 263, 258, 296, 326}  # others that do the same: none may come
_TRACEME, _CONTINUE, _GETREGS, _SETREGS, _SETOPTIONS, _SYSCALL = 0, 7, 12, 13, 0x4200, 24
_SYSGOOD, _EXITKILL = 1, 1 << 20
_REGISTERS, _RAX, _RDX, _RSI, _RDI, _CALL, _R10 = 27, 10, 12, 13, 14, 15, 7
_SECTOR = 512

traceable = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="the numbers of the system calls are those of Linux on x86-64",
)
Say = Callable[[str], object]
Act = Callable[[Say], None]


class Kind(Enum):
    """What one call does to a file or to the names in a directory."""

    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    CREATE = "create"
    MKDIR = "mkdir"
    RENAME = "rename"
    UNLINK = "unlink"
    SAY = "say"


@dataclass(frozen=True)
class Step:
    """One change. file: a number of its own. start: where it writes, or the length to which a file
    is cut.
    """

    kind: Kind
    file: int = 0
    path: str = ""
    target: str = ""
    start: int = 0
    content: bytes = b""


@dataclass
class Record:
    """What a process did, and how it ended: 0, or the signal that killed it."""

    steps: list[Step] = field(default_factory=list)
    status: int = 0
    calls: int = 0  # that change the file system
    grows: int = 0  # of these, that need room on the disk

    @property
    def said(self) -> list[str]:
        """Every word that left the process."""
        return said(self.steps)


def said(steps: list[Step]) -> list[str]:
    """The words among these steps, oldest first."""
    return [each.content.decode() for each in steps if each.kind is Kind.SAY]


def watch(act: Act, folder: Path, *, kill_at: int = -1, full_from: int = -1) -> Record:
    """Run `act` in a child and record what it does below `folder`.

    kill_at: the child is killed before this one of its changing calls. full_from: from this one of
    the calls that need room on, each fails, as on a disk that is full.
    """
    hears, says = os.pipe()
    child = os.fork()
    if child == 0:
        _be_watched(act, says)
    try:
        return _Watcher(child, folder, says, kill_at, full_from).run()
    finally:
        os.close(hears)
        os.close(says)


def _be_watched(act: Act, says: int) -> NoReturn:
    status = 77 if _ptrace(_TRACEME, 0, 0) else 1
    try:
        if status == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
            act(lambda word: os.write(says, word.encode()))
            status = 0
    finally:
        os._exit(status)


_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request: int, process: int, data: int) -> int:
    found: int = _libc.ptrace(request, process, 0, data)
    return found


class _Watcher:
    """The parent of one watched child."""

    def __init__(self, child: int, folder: Path, says: int, kill_at: int, full_from: int) -> None:
        self.child, self.folder, self.says = child, str(folder), says
        self.kill_at, self.full_from = kill_at, full_from
        self.record = Record()
        self._buffer = (ctypes.c_ulonglong * _REGISTERS)()
        self._memory = -1
        self._numbers: dict[int, int] = {}  # of inodes, which are used again

    def run(self) -> Record:
        _, status = os.waitpid(self.child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 77
            pytest.skip("this system lets no process watch another one's calls (ptrace)")
        _ptrace(_SETOPTIONS, self.child, _SYSGOOD | _EXITKILL)
        self._memory = os.open(f"/proc/{self.child}/mem", os.O_RDONLY)
        try:
            while self._next_stop() and self._enter():
                pass
        finally:
            os.close(self._memory)
        return self.record

    def _next_stop(self) -> bool:
        """Go on to the next beginning or end of a call; False at the end of the process."""
        passed = 0
        while True:
            _ptrace(_SYSCALL, self.child, passed)
            _, status = os.waitpid(self.child, 0)
            if not os.WIFSTOPPED(status):
                self.record.status = os.waitstatus_to_exitcode(status)
                return False
            if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80:
                return True
            passed = os.WSTOPSIG(status)

    def _registers(self) -> list[int]:
        _ptrace(_GETREGS, self.child, ctypes.addressof(self._buffer))
        return list(self._buffer)

    def _set(self, register: int, value: int) -> None:
        self._buffer[register] = value & (1 << 64) - 1
        _ptrace(_SETREGS, self.child, ctypes.addressof(self._buffer))

    def _enter(self) -> bool:
        """A call begins: what it is about to do, then its end. False at the end of the process."""
        found = self._registers()
        call = found[_CALL]
        step = self._step(call, found)
        if step is None:
            return self._next_stop()
        if step.kind is not Kind.SAY:
            if self.record.calls == self.kill_at:
                os.kill(self.child, signal.SIGKILL)
            self.record.calls += 1
        grows = call in _GROWS and step.kind is not Kind.SAY
        full = grows and 0 <= self.full_from <= self.record.grows
        self.record.grows += grows
        if full:
            self._set(_CALL, -1)
        if not self._next_stop():
            return False
        result = ctypes.c_longlong(self._registers()[_RAX]).value
        if full:
            self._set(_RAX, -errno.ENOSPC)
        elif result >= 0:
            self._done(call, step, result)
        return True

    def _number(self, inode: int) -> int:
        return self._numbers.get(inode, inode)

    def _text(self, address: int) -> str:
        return os.pread(self._memory, 4096, address).split(b"\0")[0].decode()

    def _step(self, call: int, found: list[int]) -> Step | None:
        """What a call is about to change of the folder, or None."""
        first, second = found[_RDI], found[_RSI]
        if call in _FILES:
            if call == _WRITE and first == self.says:
                return Step(Kind.SAY, content=os.pread(self._memory, found[_RDX], second))
            try:
                path = str(Path(f"/proc/{self.child}/fd/{first}").readlink())
                file = self._number(Path(f"/proc/{self.child}/fd/{first}").stat().st_ino)
            except OSError:
                return None
            if not path.startswith(self.folder):
                return None
            return self._to_file(call, path, file, found)
        if call not in _NAMES | _UNSUPPORTED:
            return None
        at = found[_RSI] if call == _OPENAT else found[_RDI]
        assert call not in _UNSUPPORTED, f"system call {call} is not recorded"
        path = self._text(at)
        if not path.startswith(self.folder):
            return None
        if call in {_OPEN, _OPENAT}:
            flags = found[_RDX] if call == _OPENAT else second
            if flags & os.O_CREAT and not os.path.lexists(path):
                return Step(Kind.CREATE, path=path)
            if flags & os.O_TRUNC and os.path.lexists(path):
                return Step(Kind.TRUNCATE, self._number(Path(path).stat().st_ino), path)
            return None
        if call == _RENAME:
            return Step(Kind.RENAME, path=path, target=self._text(second))
        return Step(Kind.MKDIR if call == _MKDIR else Kind.UNLINK, path=path)

    def _to_file(self, call: int, path: str, file: int, found: list[int]) -> Step:
        if call in _SYNCS:
            return Step(Kind.SYNC, file, path)
        if call == _TRUNCATE:
            return Step(Kind.TRUNCATE, file, path, start=found[_RSI])
        assert call != _ALLOCATE, "room is made by writing"
        if call == _PWRITE:
            start = found[_R10]
        else:
            lines = Path(f"/proc/{self.child}/fdinfo/{found[_RDI]}").read_text().splitlines()
            start = int(lines[0].removeprefix("pos:"))
        content = os.pread(self._memory, found[_RDX], found[_RSI])
        return Step(Kind.WRITE, file, path, start=start, content=content)

    def _done(self, call: int, step: Step, result: int) -> None:
        """What it did, as it is recorded."""
        if step.kind is Kind.CREATE:
            inode = Path(step.path).stat().st_ino
            self._numbers[inode] = -len(self.record.steps) - 1
            step = replace(step, file=self._numbers[inode])
        elif call in {_WRITE, _PWRITE}:
            step = replace(step, content=step.content[:result])
        self.record.steps.append(step)


_DATA = {Kind.WRITE, Kind.TRUNCATE}
_NAMING = {Kind.CREATE, Kind.MKDIR, Kind.RENAME, Kind.UNLINK}


@dataclass(frozen=True)
class Disk:
    """Directories, and files with what is in them; by their paths below the folder."""

    root: str
    folders: frozenset[str]
    files: frozenset[tuple[str, bytes]]

    def put(self, folder: Path) -> None:
        """Make it below a folder that is empty."""
        for each in sorted(self.folders):
            (folder / Path(each).relative_to(self.root)).mkdir(mode=0o700, exist_ok=True)
        for path, content in self.files:
            place = folder / Path(path).relative_to(self.root)
            place.touch(mode=0o600)
            place.write_bytes(content)


def after_power_loss(steps: list[Step], folder: Path, chance: Random) -> Disk:
    """A disk as a power loss after these steps may leave it.

    What was synced is there. Of each file's other writes any subset is there, each whole or in
    part, by sectors of 512 bytes. Of the changes to each directory's names a first part is there,
    as a journal keeps them. `folder` itself was there before.
    """
    share = chance.choice((0.0, 0.0, 1.0, 1.0, chance.random()))
    contents: dict[int, bytearray] = {}
    syncs = [(at, each) for at, each in enumerate(steps) if each.kind is Kind.SYNC]
    synced = {each.file: at for at, each in syncs}
    listed = {each.path: at for at, each in syncs}
    ended: set[str] = set()
    folders, names = {str(folder)}, dict[str, int]()
    for at, step in enumerate(steps):
        if step.kind in _DATA:
            content = contents.setdefault(step.file, bytearray())
            if at < synced.get(step.file, -1) or chance.random() < share:
                _change(content, step)
            elif step.kind is Kind.WRITE and 0 < share < 1:
                cut = chance.randrange(0, len(step.content) + 1, _SECTOR)
                _change(content, replace(step, content=step.content[:cut]))
        elif step.kind in _NAMING:
            parent = str(Path(step.path).parent)
            lasting = at < listed.get(parent, -1)
            if not lasting and (parent in ended or chance.random() >= share):
                ended.add(parent)
                continue
            if step.kind is Kind.MKDIR:
                folders.add(step.path)
            elif step.kind is Kind.CREATE:
                names[step.path] = step.file
            elif step.kind is Kind.RENAME:
                names[step.target] = names.pop(step.path)
            else:
                names.pop(step.path, None)
    there = {each for each in folders if _is_there(each, folders, str(folder))}
    files = {
        (path, bytes(contents.get(file, b"")))
        for path, file in names.items()
        if str(Path(path).parent) in there
    }
    return Disk(str(folder), frozenset(there), frozenset(files))


def check_histories(
    record: Record,
    folder: Path,
    scratch: Path,
    check: Callable[[Path, list[str]], None],
    count: int,
) -> int:
    """Ask `check` of so many power losses, each at a moment of its own, with what was said before;
    of equal disks once. How many differed. The same on every run for the same record.
    """
    chance, seen = Random(1), set[tuple[Disk, int]]()
    for number in range(count):
        moment = chance.randrange(len(record.steps) + 1)
        steps = record.steps[:moment]
        disk, words = after_power_loss(steps, folder, chance), said(steps)
        if (disk, len(words)) in seen:
            continue
        seen.add((disk, len(words)))
        place = scratch / str(number)
        place.mkdir(parents=True)
        disk.put(place)
        check(place, words)
        shutil.rmtree(place)
    return len(seen)


def check_every_call(
    act_in: Callable[[Path], Act],
    scratch: Path,
    check: Callable[[Path, list[str]], None],
    every: int = 1,
) -> int:
    """Kill an act before each of its calls that change a file, and fill its disk from each that
    needs room on; ask `check` what is left, and what was said. How many calls there were.

    every: of so many calls one alone.
    """
    whole = _ended(act_in, scratch / "whole", check)
    assert whole.status == 0
    for number in range(0, whole.calls, every):
        record = _ended(act_in, scratch / f"killed {number}", check, kill_at=number)
        assert record.status == -signal.SIGKILL
    for number in range(0, whole.grows, every):
        record = _ended(act_in, scratch / f"full {number}", check, full_from=number)
        assert record.status == 0, "an error that is not the house's"
    return whole.calls + whole.grows


def _ended(
    act_in: Callable[[Path], Act],
    folder: Path,
    check: Callable[[Path, list[str]], None],
    *,
    kill_at: int = -1,
    full_from: int = -1,
) -> Record:
    folder.mkdir(parents=True)
    record = watch(act_in(folder), folder, kill_at=kill_at, full_from=full_from)
    check(folder, record.said)
    shutil.rmtree(folder)
    return record


def _is_there(path: str, folders: set[str], root: str) -> bool:
    return path == root or (
        path in folders and path != "/" and _is_there(str(Path(path).parent), folders, root)
    )


def _change(content: bytearray, step: Step) -> None:
    if step.kind is Kind.TRUNCATE:
        del content[step.start :]
        content.extend(bytes(step.start - len(content)))
        return
    content.extend(bytes(max(0, step.start - len(content))))
    content[step.start : step.start + len(step.content)] = step.content
