"""What the public parameters of a noise law have in common."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar


class Parameters:
    """A dataclass that is pickled and copied as its fields, without what it made of them."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
