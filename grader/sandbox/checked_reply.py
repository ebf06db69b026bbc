"""A worker's reply, read with suspicion: every field checked, every array the one it claims to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Self, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, FailFast, Field, ValidationError, ValidationInfo, model_validator

from grader.child import protocol
from grader.errors import ProtocolError
from grader.safe_text import plain

MAX_PRINTED, MAX_TEXT = 20_000, 2_000
MOST = 160  # entries of anything in a reply; an honest worker sends fewer


def _readable(longest: int) -> BeforeValidator:
    """Text as it may be shown and stored: no control characters, no lone surrogates, not too long."""

    def read(text: object) -> object:
        if not isinstance(text, str) or (len(text) <= longest and text.isascii() and text.isprintable()):
            return text
        return plain(text[:longest].encode("utf-8", "replace").decode())

    return BeforeValidator(read)


def _few(entries: object) -> object:
    """Refuse what has too many entries before any of them is looked at: each wrong one would be remembered."""
    if isinstance(entries, (list, dict)) and len(entries) > MOST:
        raise ValueError("too many entries")
    return entries


T = TypeVar("T")
Few = Annotated[T, BeforeValidator(_few)]
FewOf = Annotated[list[T], FailFast(), BeforeValidator(_few)]
Text = Annotated[str, _readable(MAX_TEXT)]
Printed = Annotated[str, _readable(MAX_PRINTED)]
Step = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Kind = Literal["none", "ellipsis", "tensor", "number", "ndarray", "items", "other"]


class _Record(BaseModel):
    model_config = {"frozen": True, "extra": "forbid", "strict": True}


class Value(_Record):
    """What a learner's code left somewhere; its contents are that one of the reply's arrays, if they were sent."""

    kind: Kind
    type: Text = ""
    dtype: Text = ""
    shape: FewOf[Count] = Field(default_factory=list)
    array: int | None = None
    items: FewOf[Value] = Field(default_factory=list, max_length=16)
    why: Text = ""

    @model_validator(mode="after")
    def _is_its_array(self, reply: ValidationInfo) -> Self:
        if self.array is None:
            if self.kind == "number":
                raise ProtocolError("the reply names a number and does not send it")
            return self
        arrays: tuple[np.ndarray, ...] = reply.context or ()
        if not 0 <= self.array < len(arrays):
            raise ProtocolError("the reply refers to an array it does not hold")
        array = arrays[self.array]
        sent = protocol.NAMES[array.dtype]
        if self.kind == "tensor":  # of a dtype that frames do not carry, a copy is sent
            if list(array.shape) != self.shape or self.dtype in {""} | protocol.DTYPES.keys() - {sent}:
                raise ProtocolError("an array is not what the reply says of it")
        elif self.kind == "number" and (sent, array.shape) != ("float64", ()):
            raise ProtocolError("a number is not what the reply says of it")
        elif self.kind == "items" and (sent, array.ndim) != ("float64", 1):
            raise ProtocolError("a list of numbers is not what the reply says of it")
        elif self.kind not in {"number", "ndarray", "items"}:
            raise ProtocolError("a value without contents refers to an array")
        return self


class Raised(_Record):
    """An exception in learner code; its lines are those of the learner's file, or of another one, outermost first."""

    kind: Literal["raised", "syntax", "timeout", "autograd", "exit", "memory", "absent"]
    type: Text
    message: Text
    lines: FewOf[Count]
    file: Text = ""


class Call(_Record):
    """One call of the learner's function.

    Args:
        after: the arguments that it changed.
        from_huge: the arguments whose gradient was computed from a tensor that is too large.
    """

    returned: Value
    stored: Few[dict[Text, Few[dict[Text, Value]]]]
    after: Few[dict[Text, Value]]
    work: Count
    peak: Count
    from_huge: FewOf[Text] = Field(default_factory=list)
    error: Raised | None = None


class Failed(_Record):
    """A cell of a notebook that raised; the others were run all the same."""

    cell: Count
    error: Raised


class Import(_Record):
    """An import of what graded runs do not have, or pass over; `file` as in `Raised`."""

    name: Text
    line: Count
    file: Text = ""


class Nudged(_Record):
    """Hold the least and the greatest step by which a call nudged an argument whose gradient it measured."""

    smallest: Step
    largest: Step
    is_imaginary: bool


class Facts(_Record):
    """One learner's file or notebook.

    Args:
        ignored: the lines that are for IPython alone, and were not run.
        nudged: the steps of the finite differences that the gradient of an argument was seen to be, by argument.
    """

    calls: FewOf[Call]
    printed: Printed
    defined: FewOf[Text] = Field(default_factory=list, max_length=16)
    failed: FewOf[Failed] = Field(default_factory=list)
    ignored: FewOf[Count] = Field(default_factory=list)
    unusual: FewOf[Import] = Field(default_factory=list)
    nudged: Few[dict[Text, Nudged]] = Field(default_factory=dict)
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


def read(frame: protocol.Frame) -> Observation:
    """Read a reply.

    Raises:
        ProtocolError: a field is missing, unknown or of another type, or an array is not what it claims.
    """
    arrays = tuple(frame.arrays)
    try:
        return Observation(Facts.model_validate(frame.header, context=arrays), arrays)
    except (ValidationError, RecursionError) as error:
        raise ProtocolError("the reply is malformed") from error
