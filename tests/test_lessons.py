"""The lessons' examples run as they stand and print what they say."""

from __future__ import annotations

import doctest
import warnings
from pathlib import Path

import pytest
from conftest import ROOT

LESSONS = sorted((ROOT / "exercises").glob("*/README.md"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.parent.name)
def test_the_examples_of_a_lesson_print_what_it_says(lesson: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one lesson shows what PyTorch warns of
        result = doctest.testfile(str(lesson), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0 or "pycon" not in lesson.read_text("utf-8")
    assert result.failed == 0
