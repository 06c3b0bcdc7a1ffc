"""The demo's model as messages, for the app's demo, which has no server: `make demo-model`."""

from __future__ import annotations

import base64
from pathlib import Path

from askew.wire import convert
from askew_server.demo.model import demo_model

PATH = Path(__file__).parents[1] / "client/askew_client/tui/simulated_model.txt"


def text() -> str:
    """One message a line: the card, then the catalog."""
    model = demo_model()
    messages = [convert.card_to_bytes(model.card), *convert.catalog_to_chunks(model.catalog)]
    return "".join(f"{base64.b64encode(message).decode()}\n" for message in messages)


if __name__ == "__main__":
    PATH.write_text(text(), encoding="ascii")
