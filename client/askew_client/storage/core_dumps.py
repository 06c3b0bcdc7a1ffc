"""No image of this process's memory on the disk when it crashes: it would hold the profile.

For the commands alone. A library does not change limits of a process that is somebody else's.
"""

from __future__ import annotations

import sys
from contextlib import suppress

_PR_SET_DUMPABLE = 4  # linux/prctl.h


def switch_off() -> None:
    """Set the soft limit of core dumps of this process, and of those that it starts, to 0.

    Linux gives a dump to a program (systemd-coredump, say) whatever the limit; a process that is
    not dumpable is given to nobody, and other programs of the person cannot attach to it either.
    A system that refuses is left as it is.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
