"""Saves while `handgrad` watches: whatever was running, the verdict that stays is that on the last bytes."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from test_watch import ENDLESS, LEGEND, RIGHT, SLOPE, WRONG, Terminal, folder, save, terminal

pytestmark = pytest.mark.needs("tmux")

PAIRS = 200


def unlike(text: str, number: int) -> str:
    """The same code in a file with other bytes."""
    return f"{text}\n# version {number}\n"


def test_the_last_of_two_quick_saves_has_the_last_word(terminal: Terminal, folder: Path) -> None:
    """Two hundred pairs, 0.05 to 0.1 seconds apart, right and wrong in every order, and saved in every way."""
    draw = random.Random(1)
    for number in range(PAIRS):
        first, last = draw.choice([(WRONG, RIGHT), (RIGHT, WRONG), (ENDLESS, RIGHT), (ENDLESS, WRONG)])
        write = save if draw.random() < 0.5 else Path.write_text
        write(folder / SLOPE, unlike(first, number))
        time.sleep(draw.uniform(0.05, 0.1))
        write(folder / SLOPE, unlike(last, number) + f"print({number})\n")
        shown = terminal.wait_for(f"| {number}\n", "Solved." if last == RIGHT else "hint 1/3", LEGEND)
        assert ("Solved." in shown) == (last == RIGHT)
    terminal.press("q")
    terminal.wait_for("ended with 0")
    state = json.loads((folder / ".handgrad/progress.json").read_text())["exercises"]["slope"]
    assert (state["result"]["status"] == "passed") == (last == RIGHT)
