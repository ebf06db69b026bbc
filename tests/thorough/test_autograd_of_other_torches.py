"""Autograd is removed from a torch that lacks some ways to differentiate, as other versions do."""

from __future__ import annotations

from test_autograd_removal import OPEN, WITHOUT, assert_closed, said_without


def test_what_one_version_lacks_is_carried_by_the_next_means_and_an_open_road_is_noticed() -> None:
    """A version that lacks an API of another one is not refused; `thorough/test_every_road.py` tries each of them."""
    said = said_without(list(WITHOUT)[::4], it=OPEN)
    assert "can still differentiate here (backward" in said.pop("it")
    assert_closed(said)
