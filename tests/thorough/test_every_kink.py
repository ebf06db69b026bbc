"""Every way of `test_kinks` to write a kink or a tie, and more arrays that are full of ties."""

from __future__ import annotations

import pytest
import test_kinks
from test_kinks import ENTRYWISE, SHARED


@pytest.mark.parametrize("name", ENTRYWISE)
def test_entries_that_are_not_at_a_kink_are_judged_as_before(name):
    test_kinks.test_entries_that_are_not_at_a_kink_are_judged_as_before(name)


@pytest.mark.parametrize("name", SHARED)
def test_equal_entries_share_the_gradient_of_the_largest(name):
    test_kinks.test_equal_entries_share_the_gradient_of_the_largest(name)


@pytest.mark.parametrize("seed", range(1, 5))
def test_windows_full_of_ties_may_share_evenly(seed):
    test_kinks.test_windows_full_of_ties_may_share_evenly(seed)


@pytest.mark.parametrize("seed", range(3, 20))
def test_even_shares_in_an_array_that_is_nearly_all_ties(seed):
    test_kinks.test_even_shares_in_an_array_that_is_nearly_all_ties(seed)


@pytest.mark.parametrize("name", ENTRYWISE)
def test_an_entry_at_a_kink_may_have_any_slope_between_those_of_both_sides(name):
    test_kinks.test_an_entry_at_a_kink_may_have_any_slope_between_those_of_both_sides(name)


@pytest.mark.parametrize("seed", range(2, 6))
def test_gradients_taken_beside_a_kink_are_right_and_none_is_twice_as_large(seed):
    test_kinks.test_gradients_taken_beside_a_kink_are_right_and_none_is_twice_as_large(seed)
