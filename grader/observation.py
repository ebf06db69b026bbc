"""A worker's reply, read with suspicion: every field checked, every array the one it claims to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from . import protocol
from .errors import ProtocolError
from .text import plain

MAX_TEXT = 20_000


def _readable(text: object) -> object:
    """Text as it may be shown and stored: no control characters, no lone surrogates, not too long."""
    return plain(text.encode("utf-8", "replace").decode())[:MAX_TEXT] if isinstance(text, str) else text


Text = Annotated[str, BeforeValidator(_readable)]
Kind = Literal["none", "ellipsis", "tensor", "number", "ndarray", "items", "other"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Value(_Record):
    """What a learner's code left somewhere.

    Args:
        array: index of its contents among the reply's arrays, if they were sent.
    """

    kind: Kind
    type: Text = ""
    dtype: Text = ""
    shape: list[int] = Field(default_factory=list)
    array: int | None = None
    items: list[Value] = Field(default_factory=list, max_length=16)
    why: Text = ""


class Raised(_Record):
    """An exception in learner code; `lines` are those of the learner's file, outermost first."""

    kind: Literal["raised", "syntax", "timeout", "autograd", "exit", "memory"]
    type: Text
    message: Text
    lines: list[int]


class Call(_Record):
    """One call of the learner's function."""

    returned: Value
    stored: dict[str, dict[Text, Value]]
    after: dict[str, Value]
    work: int = Field(ge=0)
    peak: int = Field(ge=0)
    error: Raised | None = None


class Failed(_Record):
    """A cell of a notebook that raised; the others were run all the same."""

    cell: int
    error: Raised


class Facts(_Record):
    """One learner's file or notebook.

    Args:
        ignored: the lines that only IPython understands; they were not run.
    """

    calls: list[Call]
    printed: Text
    defined: list[Text] = Field(default_factory=list, max_length=16)
    failed: list[Failed] = Field(default_factory=list, max_length=100)
    ignored: list[int] = Field(default_factory=list, max_length=100)
    stub: bool = False
    error: Raised | None = None


@dataclass(frozen=True)
class Observation:
    """Facts and the arrays they refer to."""

    facts: Facts
    arrays: tuple[np.ndarray, ...]

    def array(self, value: Value | None) -> np.ndarray | None:
        """The contents of a value, if they were sent."""
        return None if value is None or value.array is None else self.arrays[value.array]


def read(frame: bytes) -> Observation:
    """Read a reply frame.

    Raises:
        ProtocolError: a field is missing, unknown or of another type, or an array is not what it claims.
    """
    header, arrays = protocol.unpack(frame)
    try:
        facts = Facts.model_validate(header)
    except (ValidationError, RecursionError) as error:
        raise ProtocolError("the reply is malformed") from error
    observation = Observation(facts, tuple(arrays))
    for call in facts.calls:
        values = [call.returned, *call.after.values()]
        values += [value for found in call.stored.values() for value in found.values()]
        for value in values:
            _check(value, observation.arrays)
    return observation


def _check(value: Value, arrays: tuple[np.ndarray, ...]) -> None:
    for item in value.items:
        _check(item, arrays)
    if value.array is None:
        return
    if not 0 <= value.array < len(arrays):
        raise ProtocolError("the reply refers to an array it does not hold")
    array = arrays[value.array]
    if value.kind == "tensor":
        dtype = "float32" if value.dtype == "bfloat16" else value.dtype
        if (protocol.NAMES[array.dtype], list(array.shape)) != (dtype, value.shape):
            raise ProtocolError("an array is not what the reply says of it")
    elif value.kind == "number" and (protocol.NAMES[array.dtype], array.shape) != ("float64", ()):
        raise ProtocolError("a number is not what the reply says of it")
    elif value.kind not in {"tensor", "number", "ndarray"}:
        raise ProtocolError("a value without contents refers to an array")
