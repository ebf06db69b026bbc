"""The prompts of watch mode: a word is typed until Enter, and one key or one line is an answer."""

from __future__ import annotations

import pytest

from grader.learner.watch_commands import Prompt
from grader.learner.watch_terminal import BACKSPACE, ENTER, ESCAPE, UP


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["l", "i", "n", BACKSPACE, "x", UP, ENTER], "lix"),
        ([ENTER], ""),
        (["l", ESCAPE], ""),
        ([BACKSPACE, "a", ENTER], "a"),
    ],
)
def test_a_word_is_typed_until_enter_or_left(keys: list[str], answer: str) -> None:
    prompt = Prompt("Where?", lambda _: None, is_word=True)
    assert [prompt.press(key, whole_lines=False) for key in keys] == [False] * (len(keys) - 1) + [True]
    assert prompt.typed == answer


def test_one_key_is_an_answer_and_so_is_a_line() -> None:
    prompt = Prompt("Sure?", lambda _: None)
    assert prompt.press("y", whole_lines=False)
    assert prompt.typed == "y"
    prompt = Prompt("Where?", lambda _: None, is_word=True)
    assert prompt.press("lin_grad", whole_lines=True)
    assert prompt.typed == "lin_grad"
