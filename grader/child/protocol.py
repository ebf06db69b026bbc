"""Frames between grader and worker: a JSON header and raw array bytes, every length checked, no pickle.

frame   = MAGIC (4 bytes) | header length (u32) | payload length (u64) | header | payload
header  = JSON object; `header["arrays"]` lists [dtype, shape] of each array in the payload, in order

A frame that breaks these rules, or cannot be sent, raises a `ProtocolError`.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections import deque
from collections.abc import Sequence
from itertools import islice
from mmap import mmap
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from grader.errors import ProtocolError

MAGIC = b"HGF1"
PREFIX = struct.Struct("<4sIQ")
ALIGNMENT = 16  # bytes, of the payload, so that arrays can be read without a copy
MAX_HEADER = 4 << 20  # bytes
MAX_REPLY_HEADER = 2 << 20
MAX_PAYLOAD = 64 << 20
MAX_FRAME = PREFIX.size + MAX_HEADER + MAX_PAYLOAD
MAX_RANK = 16
MOST_PARTS = 1024  # that Linux writes in one call: IOV_MAX
MAX_ARRAYS = 1 << 14
_NAMES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
DTYPES = {name: np.dtype(name) for name in _NAMES}
NAMES = {dtype: name for name, dtype in DTYPES.items()}  # `dtype.name` is slow


class Frame(NamedTuple):
    """A job or a reply: a header, and the arrays to which it refers by their indices.

    Args:
        header: what JSON can hold, without the key `arrays`.
        arrays: arrays of any shape, of the dtypes in `DTYPES`.
    """

    header: dict[str, Any]
    arrays: Sequence[np.ndarray] = ()

    def parts(self) -> list[bytes | memoryview]:
        """Return the bytes in parts, to be sent one after the other; contiguous arrays are not copied.

        Raises:
            ProtocolError: an array is of another dtype, or the frame is larger than the limits.
        """
        described = [(NAMES.get(array.dtype), array.shape) for array in self.arrays]
        if unknown := {array.dtype.name for array in self.arrays if array.dtype not in NAMES}:
            raise ProtocolError(f"frames do not carry arrays of {', '.join(sorted(unknown))}")
        head = json.dumps({**self.header, "arrays": described}).encode()
        head += b" " * (-len(head) % ALIGNMENT)
        size = sum(array.nbytes for array in self.arrays)
        if len(head) > MAX_HEADER or size > MAX_PAYLOAD:
            raise ProtocolError("the frame is larger than the limit")
        payload = (np.ascontiguousarray(array).reshape(-1).view(np.uint8).data for array in self.arrays)
        return [PREFIX.pack(MAGIC, len(head), size), head, *payload]

    def pack(self) -> bytes:
        """Return the bytes in one piece.

        Raises:
            ProtocolError: an array is of another dtype, or the frame is larger than the limits.
        """
        return b"".join(self.parts())

    def write(self, fd: int) -> None:
        """Write the bytes to a file descriptor, in as few system calls as possible (not on Windows).

        Raises:
            ProtocolError: an array is of another dtype, or the frame is larger than the limits.
        """
        unwritten = deque(memoryview(part) for part in self.parts())
        while unwritten:
            written = os.writev(fd, tuple(islice(unwritten, MOST_PARTS)))
            while unwritten and written >= len(unwritten[0]):
                written -= len(unwritten.popleft())
            if unwritten:
                unwritten[0] = unwritten[0][written:]


def unpack(frame: bytes | bytearray | mmap, max_header: int = MAX_HEADER) -> Frame:
    """Return the header and the arrays of a frame; each array is a view of the frame, or a copy if it is not aligned.

    Args:
        frame: the whole frame and nothing after it.
        max_header: the most bytes that its header may have.

    Raises:
        ProtocolError: the frame is malformed, or longer or shorter than its prefix says.
    """
    if len(frame) < PREFIX.size:
        raise ProtocolError("the frame is cut short")
    head_size, payload_size = _read_prefix(frame[: PREFIX.size])
    if len(frame) != PREFIX.size + head_size + payload_size:
        raise ProtocolError("the frame's length is not what its prefix says")
    if head_size > max_header:
        raise ProtocolError("the frame's header is too long")
    header = _parse_header(frame[PREFIX.size : PREFIX.size + head_size])
    return Frame(header, _split_arrays(header.pop("arrays", None), memoryview(frame)[PREFIX.size + head_size :]))


def read_frame(stream: BinaryIO) -> bytearray | None:
    """Read and return the next whole frame of a stream, whose arrays can be written to; `None` at the stream's end.

    Raises:
        ProtocolError: the prefix is malformed, or the stream ends inside the frame.
    """
    prefix = stream.read(PREFIX.size)
    if not prefix:
        return None
    size = sum(_read_prefix(prefix))
    body = stream.read(size)
    if len(body) != size:
        raise ProtocolError("the stream ended inside a frame")
    return bytearray(prefix + body)


def _read_prefix(prefix: bytes | bytearray) -> tuple[int, int]:
    """Return the lengths of a frame's header and payload, in bytes, from the frame's prefix.

    Raises:
        ProtocolError: the prefix is too short, or malformed, or names a length above the limits.
    """
    if len(prefix) != PREFIX.size:
        raise ProtocolError("the stream ended inside a frame")
    magic, head_size, payload_size = PREFIX.unpack(prefix)
    if magic != MAGIC or head_size > MAX_HEADER or payload_size > MAX_PAYLOAD:
        raise ProtocolError("the frame's prefix is malformed")
    return head_size, payload_size


def _parse_header(data: bytes | bytearray) -> dict[str, Any]:
    """Parse the header of a frame: a JSON object without NaN and Infinity.

    Raises:
        ProtocolError: the header is no such object.
    """
    try:
        header = json.loads(data.decode("utf-8"), parse_constant=int)  # which refuses NaN and Infinity
    except (ValueError, RecursionError) as error:
        raise ProtocolError("the frame's header is not JSON") from error
    if not isinstance(header, dict):
        raise ProtocolError("the frame's header is not an object")
    return header


def _split_arrays(described: object, payload: memoryview) -> list[np.ndarray]:
    """Return the arrays of a payload, each of the dtype and shape that the header gives for it.

    Args:
        described: the header's `arrays`, which is not checked yet.
        payload: exactly the bytes of all arrays.
    """
    if not isinstance(described, list) or len(described) > MAX_ARRAYS:
        raise ProtocolError("the frame does not describe its arrays, or too many of them")
    arrays = []
    for entry in described:
        dtype, shape = _parse_layout(entry)
        size = math.prod(shape) * dtype.itemsize
        if size > len(payload):
            raise ProtocolError("an array is longer than the payload")
        try:
            array = np.frombuffer(payload[:size], dtype).reshape(shape)
        except ValueError as error:
            raise ProtocolError("an array's shape is malformed") from error
        arrays.append(array if array.flags.aligned else array.copy())
        payload = payload[size:]
    if payload:
        raise ProtocolError("the payload has bytes that belong to no array")
    return arrays


def _parse_layout(entry: object) -> tuple[np.dtype[Any], list[int]]:
    """Check an entry of the header's `arrays`, and return the dtype and the shape that it gives.

    Raises:
        ProtocolError: the entry is no pair of an allowed dtype and a shape.
    """
    if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) and entry[0] in DTYPES):
        raise ProtocolError("an array's dtype is malformed")
    shape = entry[1]
    if not isinstance(shape, list) or len(shape) > MAX_RANK:
        raise ProtocolError("an array's shape is malformed")
    if any(type(size) is not int or not 0 <= size <= MAX_PAYLOAD for size in shape):
        raise ProtocolError("an array's shape is malformed")
    return DTYPES[entry[0]], shape
