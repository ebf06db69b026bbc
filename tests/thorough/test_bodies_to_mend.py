"""No answer of a body that is to be mended is right as it is given out."""

from __future__ import annotations

import pytest
from test_examination import Grade, grade

from grader.course.course import Course


@pytest.mark.parametrize("name", ["linear", "cross_entropy", "layernorm", "rnn", "attention"])
def test_every_answer_of_a_body_to_be_mended_is_wrong(name: str, course: Course, grade: Grade) -> None:
    """So nobody has points for what they were given."""
    text = course.find(f"mend_{name}").path.read_text()
    assert "# One line is wrong." in text
    assert grade(f"mend_{name}", f"{text}\n    print()\n").score == 0
