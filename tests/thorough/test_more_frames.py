"""Over 10,000 frames with bits flipped, pieces cut, doubled or replaced, and over 10,000 that say something else."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_protocol import (
    arrays,
    assert_read_or_refused_with_another_header,
    assert_read_or_refused_with_other_bytes,
    assert_unpacked_as_packed,
    headers_of,
    rngs,
)

EXAMPLES = 120


@settings(max_examples=EXAMPLES)
@given(headers_of(st.text(max_size=9)), arrays)
def test_what_was_packed_is_unpacked(header: dict[str, Any], packed: list[np.ndarray]) -> None:
    assert_unpacked_as_packed(header, packed)


@settings(max_examples=EXAMPLES)
@given(rngs)
def test_mutated_bytes_are_a_frame_or_refused(rng: random.Random) -> None:
    assert_read_or_refused_with_other_bytes(rng)


@settings(max_examples=EXAMPLES)
@given(rngs)
def test_mutated_headers_are_a_reply_or_refused(rng: random.Random) -> None:
    assert_read_or_refused_with_another_header(rng)
