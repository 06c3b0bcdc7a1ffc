"""A command that crashes leaves no image of its memory, and a library leaves the process alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Runs `askew` on these arguments, or imports the library alone, and prints the limits.
LIMITS = """
import ctypes, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
before = resource.getrlimit(resource.RLIMIT_CORE)
if sys.argv[1:]:
    from askew_client.cli.main import main
    try:
        main()
    except SystemExit:
        pass
else:
    import askew_client.client
after = resource.getrlimit(resource.RLIMIT_CORE)
dumpable = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) if sys.platform == "linux" else None
print(after == before, after[0], dumpable, sep=",")
"""


def limits_after(*arguments: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", LIMITS, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return run.stdout.splitlines()[-1].split(",")


@pytest.mark.parametrize("arguments", [("profile", "list"), ("no-such-command",)])
def test_a_command_is_not_dumped(arguments: tuple[str, ...]) -> None:
    """Planted bugs: no limit; the limit alone, which Linux ignores where a program gets dumps."""
    _, limit, dumpable = limits_after(*arguments)
    assert limit == "0"
    assert dumpable == ("0" if sys.platform == "linux" else "None")


def test_the_library_changes_no_limit_of_its_process() -> None:
    unchanged, _, dumpable = limits_after()
    assert unchanged == "True"
    assert dumpable == ("1" if sys.platform == "linux" else "None")
