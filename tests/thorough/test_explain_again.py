"""The backward passes of `test_explain` with other numbers and other sizes."""

from __future__ import annotations

import pytest
import test_explain
from test_explain import RIGHT, WRONG


@pytest.mark.parametrize("seed", range(1, 4))
def test_it_holds_with_other_numbers(seed):
    for case in RIGHT:
        test_explain.test_no_mistake_is_found_in_a_right_backward_pass(case, seed)
    for case in WRONG:
        test_explain.test_a_wrong_backward_pass_gets_its_code(case, seed)
