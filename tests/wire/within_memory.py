"""Reads a file that a server sent, within so much memory: python within_memory.py FILE MEBIBYTES"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from askew.errors import WireError
from askew.wire.catalog_file import catalog_from_body


def main(path: str, mebibytes: int) -> None:
    body = Path(path).read_bytes()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + (mebibytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        catalog_from_body(body)
    except WireError as error:
        said = str(error)
    else:
        said = "taken"
    sys.stdout.write(said)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
