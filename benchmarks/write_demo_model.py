"""What devices hold of the demo's model, for the app, which has no server."""

from __future__ import annotations

import base64
from pathlib import Path

from askew.wire.catalog_file import catalog_to_bytes
from askew_server.demo.simulation import demo_model

PATH = Path(__file__).parents[1] / "client/askew_client/tui/simulated_model.txt"


def text() -> str:
    model = demo_model()
    return base64.encodebytes(catalog_to_bytes(model.card, model.catalog)).decode("ascii")


if __name__ == "__main__":
    PATH.write_text(text(), encoding="ascii")
