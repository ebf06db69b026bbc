"""A reply is accepted only if every field is of its type and every array is what the reply says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.child import protocol
from grader.errors import ProtocolError
from grader.sandbox.checked_reply import Facts, read

FLOATS = np.arange(6, dtype="float32").reshape(2, 3)
TENSOR = {"kind": "tensor", "dtype": "float32", "shape": [2, 3], "array": 0}


def reply(returned: dict[str, Any], *arrays: np.ndarray, **changes: Any) -> protocol.Frame:
    """Return the reply to one call that returned this value."""
    call = {"returned": returned, "stored": {}, "after": {}, "work": 0, "peak": 0}
    return protocol.unpack(protocol.Frame({"calls": [call], "printed": "", **changes}, arrays).pack())


def test_a_tensor_is_read_with_its_contents() -> None:
    observed = read(reply(TENSOR, FLOATS))
    assert isinstance(observed, Facts)
    np.testing.assert_array_equal(observed.calls[0].returned.array, FLOATS)


def test_a_value_without_contents_has_no_array() -> None:
    observed = read(reply({"kind": "none"}))
    assert observed.calls[0].returned.array is None


def test_a_bfloat16_tensor_arrives_as_float32() -> None:
    observed = read(reply({**TENSOR, "dtype": "bfloat16"}, FLOATS))
    assert observed.calls[0].returned.dtype == "bfloat16"


@pytest.mark.parametrize(
    "returned",
    [
        {**TENSOR, "shape": [3, 2]},
        {**TENSOR, "shape": [6]},
        {**TENSOR, "dtype": "float64"},
        {**TENSOR, "dtype": ""},
        {**TENSOR, "array": 1},
        {**TENSOR, "array": -1},
        {"kind": "number", "array": 0},
        {"kind": "none", "array": 0},
        {"kind": "items", "array": 0},
        {"kind": "other", "array": 0},
        {"kind": "items", "items": [{**TENSOR, "array": 7}]},
        {"kind": "items", "items": [{"kind": "none"}] * 17},
        {"kind": "verdict"},
        {"kind": "none", "passed": True},
        {"kind": "tensor", "shape": ["2"]},
        {"kind": "tensor", "array": True},
        {"kind": "tensor", "array": 0.0},
        {},
    ],
)
def test_a_value_that_is_not_what_it_claims_is_refused(returned: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        read(reply(returned, FLOATS))


@pytest.mark.parametrize("place", ["stored", "after"])
def test_values_are_checked_wherever_they_stand(place: str) -> None:
    wrong = {**TENSOR, "array": 5}
    call: dict[str, Any] = {"returned": {"kind": "none"}, "stored": {}, "after": {}, "work": 0, "peak": 0}
    call[place] = {"w": {"g": wrong}} if place == "stored" else {"w": wrong}
    with pytest.raises(ProtocolError, match="does not hold"):
        read(protocol.Frame({"calls": [call], "printed": ""}, []))


@pytest.mark.parametrize(
    "changes",
    [
        {"passed": True},
        {"score": 1.0},
        {"printed": 5},
        {"printed": None},
        {"calls": {}},
        {"calls": None},
        {"stub": "yes"},
        {"stub": 1},
        {"defined": [1]},
        {"error": {"kind": "passed", "type": "", "message": "", "lines": []}},
        {"error": {"kind": "raised", "type": "", "message": "", "lines": ["1"]}},
        {"error": "none"},
        {"nudged": {"w": 3}},
        {"nudged": {"w": {"smallest": 0.0, "largest": 1e-5, "is_imaginary": False}}},
        {"nudged": {"w": {"smallest": 1e-5, "largest": -1.0, "is_imaginary": False}}},
    ],
)
def test_a_reply_with_another_field_or_type_is_refused(changes: dict[str, Any]) -> None:
    """There is no field for a verdict, and none can be added."""
    with pytest.raises(ProtocolError, match="malformed"):
        read(reply({"kind": "none"}, **changes))


def test_work_and_memory_cannot_be_negative() -> None:
    call = {"returned": {"kind": "none"}, "stored": {}, "after": {}, "work": -1, "peak": 0}
    with pytest.raises(ProtocolError):
        read(protocol.Frame({"calls": [call], "printed": ""}, []))


def test_a_value_nested_without_end_is_refused() -> None:
    value: dict[str, Any] = {"kind": "none"}
    for _ in range(400):
        value = {"kind": "items", "items": [value]}
    with pytest.raises(ProtocolError, match="malformed"):
        read(reply(value))
