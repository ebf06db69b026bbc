"""A question that a watch asks: one key answers it, or a word that ends with Enter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .key_presses import BACKSPACE, ENTER, ESCAPE


@dataclass
class Question:
    """A question on the screen.

    Args:
        then: called with the answer, which is empty where the question was left.
        is_word: the answer is typed and ended with Enter, in place of a single key.
    """

    prompt: str
    then: Callable[[str], None]
    is_word: bool = False
    typed: str = ""

    def press(self, key: str, *, whole_lines: bool) -> bool:
        """Take a key, or a whole line; returns whether `typed` is the answer now."""
        if key in (ENTER, ESCAPE):
            self.typed = self.typed if key == ENTER else ""
            return True
        if key == BACKSPACE:
            self.typed = self.typed[:-1]
        elif whole_lines or len(key) == 1:
            self.typed += key
        return whole_lines or not self.is_word
