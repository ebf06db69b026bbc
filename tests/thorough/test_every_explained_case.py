"""Every case of both corpora of `explain`: that of `test_explain_corpus`, and that of `test_explain_foreign`."""

from __future__ import annotations

import pytest
import test_explain_corpus
import test_explain_foreign
from helpers import explain_corpus


@pytest.mark.parametrize("case", explain_corpus.RIGHT)
def test_a_right_backward_pass_is_right(case):
    test_explain_corpus.test_a_right_backward_pass_is_right(case)


@pytest.mark.parametrize("case", explain_corpus.WRONG)
def test_a_wrong_backward_pass_is_wrong(case, monkeypatch):
    test_explain_corpus.test_a_wrong_backward_pass_is_wrong(case, monkeypatch)


@pytest.mark.parametrize("case", explain_corpus.ELSEWHERE)
def test_what_is_wrong_at_sizes_that_nobody_gave_is_said_first(case):
    test_explain_corpus.test_what_is_wrong_at_sizes_that_nobody_gave_is_said_first(case)


@pytest.mark.parametrize("case", test_explain_foreign.WRONG)
def test_a_slip_in_a_foreign_forward_pass_has_its_true_code(case):
    test_explain_foreign.test_a_slip_in_a_foreign_forward_pass_has_its_true_code(case)
