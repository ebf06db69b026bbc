"""A worker's reply, read with suspicion: every field is checked, and every array must be what the reply says of it.

The models are the facts that `grader.child` reports, with each array in place of its index; a field that they do not
name is refused.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeVar

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    FailFast,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from grader.child import protocol
from grader.errors import ProtocolError
from grader.safe_text import plain

MAX_PRINTED, MAX_TEXT = 20_000, 2_000  # characters
MOST = 160  # entries of a list or a dict in a reply; an honest worker sends fewer


def _readable(longest: int) -> BeforeValidator:
    """Return a validator that makes text safe to show and store: without control characters and lone surrogates.

    Args:
        longest: the number of characters after which the text is cut.
    """

    def read(text: object) -> object:
        """Return safe text; anything else than text unchanged, for the next validator to refuse."""
        if not isinstance(text, str) or (len(text) <= longest and text.isascii() and text.isprintable()):
            return text
        return plain(text[:longest].encode("utf-8", "replace").decode())

    return BeforeValidator(read)


def _few(entries: object) -> object:
    """Return a list or a dict unchanged if it has few entries; a validator that runs before the entries are checked.

    Raises:
        ValueError: there are more than `MOST` entries.
    """
    if isinstance(entries, (list, dict)) and len(entries) > MOST:
        raise ValueError("too many entries")
    return entries


def _contents(index: object, reply: ValidationInfo) -> np.ndarray | None:
    """Return the array that an index stands for in a reply; `None` if the index is `None`.

    Args:
        index: what the reply has in place of the array.
        reply: the validation, whose context is the list of all arrays of the reply.

    Raises:
        ValueError: `index` is neither an integer nor `None`.
        ProtocolError: the reply holds no array with this index.
    """
    if index is None:
        return None
    if type(index) is not int:
        raise ValueError("no index of an array")
    arrays: tuple[np.ndarray, ...] = reply.context or ()
    if not 0 <= index < len(arrays):
        raise ProtocolError("the reply refers to an array it does not hold")
    return arrays[index]


T = TypeVar("T")
Few = Annotated[T, BeforeValidator(_few)]
FewOf = Annotated[list[T], FailFast(), BeforeValidator(_few)]
Text = Annotated[str, _readable(MAX_TEXT)]
Printed = Annotated[str, _readable(MAX_PRINTED)]
Step = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Kind = Literal["none", "ellipsis", "tensor", "number", "ndarray", "items", "other"]


class _Model(BaseModel):
    """A part of a reply: immutable, without unknown fields, and without conversions between types."""

    model_config = {"frozen": True, "extra": "forbid", "strict": True}


class Value(_Model):
    """A value that learner code returned or stored.

    Attributes:
        type: the name of the value's type; empty where the kind says it.
        dtype: the dtype of a tensor, without `torch.`; empty for any other value.
        shape: the shape of a tensor; empty for any other value.
        array: the contents of the value; `None` if they were not sent.
        items: the first items of a list or a tuple; none for any other value.
        why: the message of the exception that reading the value raised.
    """

    kind: Kind
    type: Text = ""
    dtype: Text = ""
    shape: FewOf[Count] = Field(default_factory=list)
    array: Annotated[np.ndarray | None, PlainValidator(_contents)] = None
    items: FewOf[Value] = Field(default_factory=list, max_length=16)
    why: Text = ""

    @model_validator(mode="after")
    def _check_array(self) -> Self:
        """Return this value if its array agrees with its other fields.

        Raises:
            ProtocolError: the array has another dtype or shape than they say, is missing, or must not be there.
        """
        array = self.array
        if array is None:
            if self.kind == "number":
                raise ProtocolError("the reply names a number and does not send it")
            return self
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


class Raised(_Model):
    """An exception that learner code raised.

    Attributes:
        kind: what it means, such as `timeout` for the end of the time limit; `raised` if it is no special case.
        type: the name of the exception's type.
        lines: the lines of the traceback that are in `file`, outermost first.
        file: the name of another file of the submission; empty for the learner's own.
    """

    kind: Literal["raised", "syntax", "timeout", "autograd", "exit", "memory", "absent"]
    type: Text
    message: Text
    lines: FewOf[Count]
    file: Text = ""


class Call(_Model):
    """The facts of one call of the learner's function.

    Attributes:
        returned: what it returned.
        stored: the attributes set on each tensor argument, by the names of the argument and the attribute.
        after: the arguments that it changed, by name, with their values after the call.
        work: elements that its tensor operations wrote.
        peak: the most bytes that it held at once.
        from_huge: the arguments whose gradient was computed from a tensor that is too large.
        error: the exception that it raised.
    """

    returned: Value
    stored: Few[dict[Text, Few[dict[Text, Value]]]]
    after: Few[dict[Text, Value]]
    work: Count
    peak: Count
    from_huge: FewOf[Text] = Field(default_factory=list)
    error: Raised | None = None


class Failed(_Model):
    """A cell of a notebook that raised an exception; the other cells were run nevertheless.

    Attributes:
        cell: the index of the cell, from 0.
    """

    cell: Count
    error: Raised


class Import(_Model):
    """An import of a module that graded runs do not have, or pass over.

    Attributes:
        name: the name of the module.
        line: the line of the import, numbered through all cells from 1.
        file: the name of the submission's other file that the import is in; empty for the checked one.
    """

    name: Text
    line: Count
    file: Text = ""


class Nudged(_Model):
    """Hold the least and the greatest step by which a call nudged an argument whose gradient it measured."""

    smallest: Step
    largest: Step
    is_imaginary: bool


class Facts(_Model):
    """The facts of a job: one learner's file or notebook, and the calls of its function.

    Attributes:
        calls: the calls in the order of the job; fewer than the job asked for if `error` ended them.
        printed: the output of the code and of the first call.
        defined: the names of the functions that the source defines, for a message about a missing one.
        failed: the cells that raised an exception.
        ignored: the lines that are for IPython alone, and were not run.
        unusual: the imports of modules that graded runs do not have.
        nudged: by argument, the steps of the finite differences that its gradient was seen to be.
        stub: whether the function still is a stub, whose body does nothing.
        error: the exception that ended the job.
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


def read(frame: protocol.Frame) -> Facts:
    """Read and check a reply.

    Args:
        frame: the reply of a worker; its arrays become those of the facts.

    Raises:
        ProtocolError: a field is missing, unknown or of another type, or an array is not what it claims.
    """
    try:
        return Facts.model_validate(frame.header, context=tuple(frame.arrays))
    except (ValidationError, RecursionError) as error:
        raise ProtocolError("the reply is malformed") from error
