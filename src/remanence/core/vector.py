"""Embedding vectors as they travel and are kept: float32 in the machine's order, of length one."""

import math
from array import array
from collections.abc import Sequence
from typing import NewType

Vector = NewType("Vector", bytes)
"""Packed, because a list of floats takes eight times the room and is never calculated with."""


def pack_vector(values: Sequence[float]) -> Vector:
    """A vector of length one in the same direction; one without a direction stays zero."""
    length = math.sqrt(math.fsum(value * value for value in values))
    scaled = (value / length for value in values) if length > 0 else values
    return Vector(array("f", scaled).tobytes())


def unpack_vector(vector: Vector) -> list[float]:
    values = array("f")
    values.frombytes(vector)
    return values.tolist()


def dimensions_of(vector: Vector) -> int:
    return len(vector) // 4
