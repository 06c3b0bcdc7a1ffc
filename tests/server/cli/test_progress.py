"""Long work says where it is."""

from __future__ import annotations

from server.release.typed import Captured

from askew_server.cli.progress import Steps


def test_a_log_has_a_line_for_each_step(capsys: Captured) -> None:
    """And, within a long one, no more than one in ten seconds."""
    clock = [100.0]
    steps = Steps(lambda: clock[0])
    steps.step("charging")
    clock[0] += 3
    steps.step("counting")
    for share in range(40):
        clock[0] += 1
        steps.share(share / 40)
    assert capsys.readouterr().err.splitlines() == [
        "     0 s  charging",
        "     3 s  counting",
        "    13 s  counting, 22%",
        "    23 s  counting, 48%",
        "    33 s  counting, 72%",
        "    43 s  counting, 98%",
    ]
