"""What a network sees of a device: a process of its own between it and both doors of a server.

`recorder.py PORT` forwards to that port of this machine, gRPC's, and to the one after it, for files
by HTTP. Its first line of output is the first of its own two ports. It answers each line of input
with a line of JSON: the connections since the line before, in the order in which they began, once
each has ended. A server's end of a connection is not handed on: what is closed, the device closes.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from contextlib import ExitStack, suppress
from threading import Event, Thread
from typing import Any

PATIENCE = 30.0  # seconds for a device's last connection to end
# What is closed leaves no port behind that waits for a minute: there are 28,000.
RESETS = struct.pack("ii", 1, 0)


class Passing:
    """A connection that a device opened. seen: what passed of it, and when."""

    def __init__(self, door: str) -> None:
        self.seen: dict[str, Any] = {"door": door, "began": time.monotonic(), "sends": []}
        self.seen["gets"] = []
        self.over = Event()

    def carry(self, device: socket.socket, server: socket.socket) -> None:
        how = "ends"
        try:
            while data := device.recv(1 << 16):
                self.seen["sends"].append((time.monotonic(), data.hex()))
                with suppress(OSError):
                    server.sendall(data)
        except OSError:
            how = "resets"
        self.seen |= {"ended": time.monotonic(), "how": how}
        with suppress(OSError):  # the other thread waits for the server's end of it
            server.shutdown(socket.SHUT_RD)
        server.close()
        device.close()
        self.over.set()

    def carry_back(self, server: socket.socket, device: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 20):
                self.seen["gets"].append(time.monotonic())
                device.sendall(data)


def forward(listener: socket.socket, port: int, door: str, passing: list[Passing]) -> None:
    while True:
        device, _ = listener.accept()
        passing.append(connection := Passing(door))
        server = socket.create_connection(("127.0.0.1", port))
        for end in (device, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETS)
        Thread(target=connection.carry_back, args=(server, device), daemon=True).start()
        Thread(target=connection.carry, args=(device, server), daemon=True).start()


def two_listeners() -> tuple[socket.socket, socket.socket]:
    """Listen on two ports that follow each other, below those that Linux gives to connections."""
    for first in range(20_000 + os.getpid() % 5_000 * 2, 32_768, 2):
        with suppress(OSError), ExitStack() as tried:
            one, other = (
                tried.enter_context(socket.create_server(("127.0.0.1", port), backlog=64))
                for port in (first, first + 1)
            )
            tried.pop_all()
            return one, other
    raise OSError("no two ports that follow each other are free")


def main(port: int) -> None:
    passing: list[Passing] = []
    listeners = two_listeners()
    for beside, door in enumerate(("grpc", "http")):
        arguments = (listeners[beside], port + beside, door, passing)
        Thread(target=forward, args=arguments, daemon=True).start()
    say(listeners[0].getsockname()[1])
    for _ in sys.stdin:
        taken = [passing.pop(0) for _ in range(len(passing))]
        assert all(each.over.wait(PATIENCE) for each in taken), "a device left a connection open"
        say(json.dumps([each.seen for each in taken]))


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
