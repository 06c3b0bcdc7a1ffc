"""What a network sees of a device: a process of its own between it and a server, which writes down
when each connection begins, what passes, and how and when the device ends it.

Run as a program, `recorder.py PORT` forwards to that port of this machine. Its first line of output
is its own port; each later one an event: connection, seconds, what, bytes; the first bytes of a
device as "opens", in hexadecimal. A server's end of a connection is not handed on: what is closed,
the device closes.
"""

from __future__ import annotations

import socket
import sys
import time
from contextlib import suppress
from itertools import count
from threading import Thread


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def carry(number: int, what: str, source: socket.socket, sink: socket.socket) -> None:
    how, opened = "ends", what != "sends"
    try:
        while data := source.recv(1 << 20):
            if not opened:
                say(number, time.monotonic(), "opens", data.hex())
                opened = True
            say(number, time.monotonic(), what, len(data))
            with suppress(OSError):
                sink.sendall(data)
    except OSError:
        how = "resets"
    if what == "sends":
        say(number, time.monotonic(), how, 0)
        sink.close()
        source.close()


def main(port: int) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    say(listener.getsockname()[1])
    for number in count(1):
        device, _ = listener.accept()
        say(number, time.monotonic(), "begins", 0)
        server = socket.create_connection(("127.0.0.1", port))
        Thread(target=carry, args=(number, "sends", device, server), daemon=True).start()
        Thread(target=carry, args=(number, "gets", server, device), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]))
