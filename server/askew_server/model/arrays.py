"""Arrays by name in a safetensors file: their types and shapes are checked, nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import ArtifactError

Arrays = dict[str, NDArray[Any]]
ArrayKind = tuple[np.dtype[Any], int]  # the type, and the number of dimensions
LIMIT = 1 << 32  # bytes of a file of arrays


def encode_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The file of these arrays."""
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def shapes_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, list[int]]:
    """What a card says of them."""
    return {name: list(array.shape) for name, array in arrays.items()}


def decode_arrays(
    name: str,
    data: bytes,
    kinds: Mapping[str, ArrayKind],
    optional: Mapping[str, ArrayKind] | None = None,
) -> Arrays:
    """The arrays of a file, read-only: all of `kinds`, and of `optional` those that are there.

    name: the file's, for ArtifactError, which anything else raises.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{name} is damaged: {error}") from None
    found = {each: (array.dtype, array.ndim) for each, array in arrays.items()}
    allowed = {each: kind for each, kind in (optional or {}).items() if each in found}
    if found != dict(kinds) | allowed:
        raise ArtifactError(f"{name} does not hold the arrays of a model")
    return arrays


def check_shapes(name: str, arrays: Arrays, shapes: Mapping[str, list[int]]) -> None:
    """Raises ArtifactError for arrays of other shapes than a card names."""
    if shapes_of(arrays) != dict(shapes):
        raise ArtifactError(f"{name} does not have the shapes that the card names")
