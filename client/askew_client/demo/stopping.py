"""How a demo is stopped: in order, so that nothing is left behind."""

from __future__ import annotations

import asyncio
import signal


def end_in_order_on(*numbers: signal.Signals) -> None:
    """Cancel the demo on a signal; on its way out it stops its processes and removes its files."""
    task = asyncio.current_task()
    if task is not None:
        for number in numbers:
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
