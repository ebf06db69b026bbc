"""At more moments than in `test_clock` time is up, and every call is reported."""

from __future__ import annotations

import pytest
from test_clock import assert_every_call_is_reported, no_timer

__all__ = ["no_timer"]


def test_at_whatever_moment_time_is_up_every_call_is_reported(no_timer: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_every_call_is_reported(17, monkeypatch)
