"""What a call costs by the version of grpcio: the same echo, side by side.

    python -m benchmarks.grpcio_versions [VERSION ...]      # 1.78 and 1.85 without

Each version is installed into a folder that goes again, and a server in a process of its own takes
it from there; everything else is the same. Short windows take turns; ratios are those to the last
version, with bootstrap intervals of 90 %.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.serving.figures import HEADING, cpu, described, rate, ratio
from benchmarks.serving.host import Hosted
from benchmarks.serving.http2 import ClosedLoop
from benchmarks.serving.windows import Contender, rotations

USUAL = ("1.78", "1.85")
ROUNDS, SECONDS, REQUEST, REPLY = 16, 0.4, 64, 1024


def installed(version: str, folder: Path) -> str:
    """A folder with this grpcio and its health checks, without what they need."""
    names = [f"{name}=={version}.*" for name in ("grpcio", "grpcio-health-checking")]
    pip = [sys.executable, "-m", "pip", "install", "-qqq", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--target", str(folder), *names], check=True)
    [found] = [each.name.split("-")[1] for each in folder.glob("grpcio-*.dist-info")]
    return found.removesuffix(".dist")


def main() -> None:
    asked = sys.argv[1:] or USUAL
    gc.disable()
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in asked]
        names = [f"grpcio {installed(*each)}" for each in zip(asked, folders, strict=True)]
        contenders = []
        for name, folder in zip(names, folders, strict=True):
            server = stack.enter_context(Hosted("echo", REPLY, packages=str(folder)))
            calls = [(bytes(REQUEST), bytes(REPLY))]
            loop = ClosedLoop(server.port, f"/Echo/{REPLY}", 16, calls)
            stack.callback(loop.close)
            contenders.append(Contender(name, server.pid, loop.run))
        windows = rotations(contenders, ROUNDS, SECONDS)
    print(f"an echo of {REPLY} bytes, 16 calls at once\n{HEADING}")
    for each in contenders:
        print(described(each.name, windows[each.name]))
    last = windows[contenders[-1].name]
    for each in contenders[:-1]:
        for words, measure in (("CPU", cpu), ("calls a second", rate)):
            found = ratio(last, windows[each.name], measure)
            print(f"  {words} of {contenders[-1].name} / {each.name}: {found}")


if __name__ == "__main__":
    main()
