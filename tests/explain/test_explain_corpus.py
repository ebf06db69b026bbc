"""`explain` on a corpus that was labelled before it was tried: no right pass is rejected, no wrong one passes.

One in eight of its cases; `thorough/test_every_explained_case.py` has all.
"""

from __future__ import annotations

import pytest
from helpers.explain_corpus import ELSEWHERE, RIGHT, WRONG

from grader.diagnosis.facts import plain_facts
from grader.explain import verdicts
from handgrad import explain


@pytest.mark.parametrize("case", list(RIGHT)[::8])
def test_a_right_backward_pass_is_right(case):
    forward, inputs, under_test = RIGHT[case]
    found = explain(forward, inputs, **under_test, seed=0)
    assert found, str(found)


@pytest.mark.parametrize("case", list(WRONG)[::8])
def test_a_wrong_backward_pass_is_wrong(case, monkeypatch):
    monkeypatch.setattr(verdicts, "find_mistakes", lambda exercise, wrong, right, cases: plain_facts(exercise, wrong))
    forward, inputs, under_test = WRONG[case]
    found = explain(forward, inputs, **under_test, seed=0)
    assert not found
    assert found.mistakes, str(found)  # it was judged


@pytest.mark.parametrize("case", list(ELSEWHERE)[::8])
def test_what_is_wrong_at_sizes_that_nobody_gave_is_said_first(case):
    forward, inputs, under_test = ELSEWHERE[case]
    found = explain(forward, inputs, **under_test, seed=0)
    assert found, str(found)
    assert "right at the given sizes, but wrong where" in found.notes[0]


def test_the_corpus_is_large_enough():
    assert len(RIGHT) >= 60
    assert len(WRONG) >= 60
    assert len(ELSEWHERE) >= 10
