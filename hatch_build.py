"""The description of the distribution: README.md, its links made absolute.

On a package index there are no files beside it that a relative link could lead to.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https?:|mailto:|#)(?P<path>[^)\s]+)\)")


def absolute(text: str, source: str) -> str:
    """Markdown whose relative links lead into the repository at `source`."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found["image"] else "blob"
        return f"{found['image']}[{found['text']}]({source}/{kind}/main/{found['path']})"

    return _LINK.sub(link, text)


class AbsoluteLinks(MetadataHookInterface):
    """Fills in the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """As the build asks."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = absolute(readme, metadata["urls"]["Source"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
