"""Plain mode: text that a screen reader can follow, with nothing drawn over and nothing drawn."""

from __future__ import annotations

import os

ACCESSIBLE = "ACCESSIBLE"
OFF = ("", "0")


def is_plain() -> bool:
    """Whether somebody asked for plain text: by `--plain`, by ACCESSIBLE=1, or with a terminal that only prints."""
    return os.environ.get(ACCESSIBLE, "") not in OFF or os.environ.get("TERM") == "dumb"


def ask_for_plain() -> None:
    """What `--plain` does, for this program and those that it starts."""
    os.environ[ACCESSIBLE] = "1"
