"""Reading a frame returns exactly what its header says, or raises `ProtocolError`, whatever its bytes are."""

from __future__ import annotations

import io
import json
import random
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.child import protocol
from grader.errors import ProtocolError
from grader.sandbox import checked_reply

EXAMPLES, MUTATIONS = 8, 100  # `thorough/test_more_frames.py` has more
HOSTILE_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    -1,
    0,
    1,
    2**31,
    2**63,
    2**64,
    10**40,
    0.5,
    1e999,
    "",
    "x",
    "\ud800",
    "tensor",
    "float64",
    "object",
    [],
    [[]],
    {},
    {"arrays": []},
    [-1],
    [2**40, 2**40],
    [1] * 40,
    "\x00",
    [[["float32", [1]]]],
    ["float32", [0, 10**15]],
)

arrays = st.lists(
    hnp.arrays(
        st.sampled_from(sorted(protocol.DTYPES)).map(np.dtype),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    ),
    max_size=4,
)


def frame_of(header: Any, payload: bytes = b"") -> bytes:
    """Return a frame with any JSON value for a header, and with the right lengths."""
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return protocol.PREFIX.pack(protocol.MAGIC, len(head), len(payload)) + head + payload


def a_reply() -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the header and the arrays of a worker's reply with every kind of value."""
    tensor = {"kind": "tensor", "dtype": "float32", "shape": [2, 3], "array": 0}
    call = {
        "returned": {
            "kind": "items",
            "type": "tuple",
            "items": [{"kind": "number", "type": "float", "array": 1}, {"kind": "none"}],
        },
        "stored": {"w": {"g": {"kind": "ndarray", "type": "numpy array", "array": 2}, "h": {"kind": "ellipsis"}}},
        "after": {"w": tensor},
        "work": 3,
        "peak": 4,
    }
    error = {"kind": "raised", "type": "ValueError", "message": "no", "lines": [1, 2], "missing": ""}
    failed = {
        "returned": {"kind": "other", "type": "X", "why": "no"},
        "stored": {},
        "after": {},
        "work": 0,
        "peak": 0,
        "error": error,
    }
    facts = {"calls": [call, failed], "printed": "hello", "defined": ["f"], "stub": False, "error": None}
    return facts, [np.ones((2, 3), "float32"), np.array(1.5), np.arange(3)]


def well_formed(frame: bytes) -> bool:
    """Return whether both readers accept a frame; an exception other than `ProtocolError` fails the test."""
    accepted = True
    try:
        header, found = protocol.unpack(frame)
        assert isinstance(header, dict)
        assert all(array.dtype.name in protocol.DTYPES for array in found)
    except ProtocolError:
        accepted = False
    try:
        read = checked_reply.read(protocol.unpack(frame))
        assert isinstance(read, checked_reply.Facts)
        assert accepted
    except ProtocolError:
        return False
    return accepted


LETTERS = st.text("abc _-\0\n\"'\\{}é☃\U0001f600", max_size=9)  # all of Unicode takes a process seconds to load


def headers_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Return headers of which keys and values are drawn from these texts."""
    return st.dictionaries(texts.filter(lambda key: key != "arrays"), st.integers() | texts)


@settings(max_examples=EXAMPLES)
@given(headers_of(LETTERS), arrays)
def test_what_was_packed_is_unpacked(header: dict[str, Any], packed: list[np.ndarray]) -> None:
    assert_unpacked_as_packed(header, packed)


def assert_unpacked_as_packed(header: dict[str, Any], packed: list[np.ndarray]) -> None:
    """Check that a frame is unpacked to the header and the arrays that were packed."""
    found, unpacked = protocol.unpack(protocol.Frame(header, packed).pack())
    assert found == header
    assert [(array.dtype, array.shape, array.tobytes()) for array in unpacked] == [
        (array.dtype, array.shape, array.tobytes()) for array in packed
    ]


def test_arrays_that_are_views_are_packed_by_their_contents() -> None:
    view = np.arange(12.0).reshape(3, 4).T[::2]
    _, (found,) = protocol.unpack(protocol.Frame({}, [view]).pack())
    np.testing.assert_array_equal(found, view)


def test_unpacked_arrays_cannot_be_written_to() -> None:
    _, (found,) = protocol.unpack(protocol.Frame({}, [np.ones(3)]).pack())
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 2


@pytest.mark.parametrize("array", [np.array([object()]), np.array(["text"]), np.zeros(2, "datetime64[s]")])
def test_an_array_of_another_kind_is_not_packed(array: np.ndarray) -> None:
    with pytest.raises(ProtocolError, match="do not carry"):
        protocol.Frame({}, [array]).pack()


def test_a_frame_beyond_the_limit_is_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_PAYLOAD", 10)
    with pytest.raises(ProtocolError, match="limit"):
        protocol.Frame({}, [np.ones(2)]).pack()


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (b"", "cut short"),
        (b"HGF1", "cut short"),
        (struct.pack("<4sIQ", b"HGF2", 2, 0) + b"{}", "prefix"),
        (struct.pack("<4sIQ", b"HGF1", 2**32 - 1, 0), "prefix"),
        (struct.pack("<4sIQ", b"HGF1", 2, 2**64 - 1), "prefix"),
        (frame_of({"arrays": []}) + b"!", "length"),
        (frame_of({"arrays": []})[:-1], "length"),
        (frame_of(b"{"), "not JSON"),
        (frame_of(b"\xff\xfe"), "not JSON"),
        (frame_of(b'{"arrays": [], "x": NaN}'), "not JSON"),
        (frame_of(b"[" * 100_000), "not JSON"),
        (frame_of(b"1" * 100_000), "not JSON"),
        (frame_of([]), "not an object"),
        (frame_of({"passed": True}), "does not describe"),
        (frame_of({"arrays": [["float32", [2]]]}, b"1234"), "longer than the payload"),
        (frame_of({"arrays": [["float32", [1]]]}, b"12345678"), "belong to no array"),
        (frame_of({"arrays": [["object", [1]]]}, b"12345678"), "dtype"),
        (frame_of({"arrays": [["float32", [-1]]]}), "shape"),
        (frame_of({"arrays": [["float32", [True]]]}), "shape"),
        (frame_of({"arrays": [["float32", [0, 10**15]]]}), "shape"),
        (frame_of({"arrays": [["float32", [1] * 17]]}, b"1234"), "shape"),
        (frame_of({"arrays": [["float32"]]}), "dtype"),
    ],
)
def test_a_malformed_frame_is_refused(frame: bytes, says: str) -> None:
    with pytest.raises(ProtocolError, match=says):
        protocol.unpack(frame)


def test_a_stream_is_read_frame_by_frame() -> None:
    first, second = protocol.Frame({"n": 1}).pack(), protocol.Frame({"n": 2}, [np.ones(3)]).pack()
    stream = io.BytesIO(first + second)
    assert [protocol.read_frame(stream) for _ in range(3)] == [first, second, None]


@pytest.mark.parametrize("kept", [5, 20])
def test_a_stream_that_ends_inside_a_frame_is_refused(kept: int) -> None:
    with pytest.raises(ProtocolError, match="inside a frame"):
        protocol.read_frame(io.BytesIO(protocol.Frame({"n": 1}, [np.ones(3)]).pack()[:kept]))


def test_a_stream_that_promises_too_much_is_refused_before_it_is_read() -> None:
    prefix = struct.pack("<4sIQ", b"HGF1", 2, 1 << 60)
    with pytest.raises(ProtocolError, match="prefix"):
        protocol.read_frame(io.BytesIO(prefix))


rngs = st.randoms(use_true_random=False)


@settings(max_examples=EXAMPLES, deadline=None)
@given(rngs)
def test_mutated_bytes_are_a_frame_or_refused(rng: random.Random) -> None:
    assert_read_or_refused_with_other_bytes(rng)


def assert_read_or_refused_with_other_bytes(rng: random.Random) -> None:
    """Check frames whose bits are flipped, or whose pieces are cut, doubled or replaced."""
    facts, carried = a_reply()
    frame = protocol.Frame(facts, carried).pack()
    outcomes = [well_formed(_mutated(frame, rng)) for _ in range(MUTATIONS)]
    assert len(outcomes) == MUTATIONS


def _mutated(frame: bytes, rng: random.Random) -> bytes:
    data = bytearray(frame)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data) + 1)
        size = rng.choice([1, 1, 4, 16, 200])
        change = rng.randrange(5)
        if change == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif change == 1:
            del data[at : at + size]
        elif change == 2:
            data[at:at] = data[at : at + size]
        elif change == 3:
            data[at : at + size] = rng.randbytes(size)
        else:
            data[at : at + 1] = rng.choice([b'"', b"{", b"[", b"]", b"9", b"-", b"\\u", b"e9"])
    return bytes(data)


@settings(max_examples=EXAMPLES, deadline=None)
@given(rngs)
def test_mutated_headers_are_a_reply_or_refused(rng: random.Random) -> None:
    assert_read_or_refused_with_another_header(rng)


def assert_read_or_refused_with_another_header(rng: random.Random) -> None:
    """Check frames of the right lengths whose header is changed in one place."""
    facts, carried = a_reply()
    frame = protocol.Frame(facts, carried).pack()
    head_size = protocol.PREFIX.unpack(frame[: protocol.PREFIX.size])[1]
    head, payload = frame[protocol.PREFIX.size :][:head_size], frame[protocol.PREFIX.size + head_size :]
    outcomes = []
    for _ in range(MUTATIONS):
        header = json.loads(head)
        for _ in range(rng.choice([1, 1, 2])):
            _change_somewhere(header, rng)
        outcomes.append(well_formed(frame_of(header, payload)))
    assert len(outcomes) == MUTATIONS


def _change_somewhere(value: Any, rng: random.Random) -> None:
    """Replace, add, remove or rename one part of a JSON value, in place."""
    places = _containers(value)
    parent = rng.choice(places)
    other = rng.choice(HOSTILE_VALUES) if rng.random() < 0.7 else rng.choice(places)
    other = json.loads(json.dumps(other))
    if isinstance(parent, list):
        at = rng.randrange(len(parent) + 1)
        parent[at : at + rng.randrange(2)] = [] if rng.random() < 0.2 else [other]
    else:
        key = rng.choice([*parent, "extra", "\ud800", ""])
        if rng.random() < 0.2:
            parent.pop(key, None)
        else:
            parent[key] = other


def _containers(value: Any) -> list[Any]:
    found = [value] if isinstance(value, (dict, list)) else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return found + [container for part in parts for container in _containers(part)]


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_refused(data: bytes) -> None:
    assert not well_formed(data)
