"""Trials have sizes that distinguish axes, and samplers draw values away from kinks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from helpers.courses import ROOT

from grader.course.sampling import (
    Array,
    Sampler,
    accumulating,
    away_from,
    each_of,
    indices,
    mask,
    normal,
    number,
    positive,
    shape,
    signs,
    spaced,
    taking_turns,
    tried,
    uniform,
    wanted,
    weights,
    with_exact_entries,
    withheld,
)
from grader.course.trial_sizes import LARGE_UPSTREAM_KIND, ONE_KIND, Setting, large_setting, settings

SEEDS = range(25)
FIRST = Setting(0, "a test", {"bs": 40, "n": 30})


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_trials_have_pairwise_different_sizes(seed: int) -> None:
    """No axis has size one there, so that the size of an axis identifies it."""
    for setting in settings(("bs n", "n m", "m"), rng(seed))[:2]:
        assert len(set(setting.sizes.values())) == 3
        assert min(setting.sizes.values()) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_there_is_a_batch_of_one_and_a_square_case(seed: int) -> None:
    series = settings(("bs n", "n m"), rng(seed))
    by_kind = {setting.kind: setting for setting in series}
    assert by_kind["a batch of one"].sizes["bs"] == 1
    assert min(by_kind["a batch of one"].sizes[axis] for axis in ("n", "m")) > 1
    assert len(set(by_kind["a square case"].sizes.values())) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_batch_changes_from_one_trial_to_another(seed: int) -> None:
    assert len({setting.sizes["bs"] for setting in settings(("bs n",), rng(seed))}) >= 2


def test_arrays_of_any_rank_are_tried_at_several_ranks() -> None:
    assert {setting.rank for setting in settings(("...",), rng())} == {1, 2, 3}


def test_there_are_as_many_trials_as_asked_for() -> None:
    assert len(settings(("n",), rng(), 9)) == 9
    assert [setting.index for setting in settings((), rng(), 6)] == list(range(6))


def test_a_large_setting_has_different_large_sizes() -> None:
    sizes = large_setting(("bs n", "n m"), 4).sizes
    assert len(set(sizes.values())) == 3
    assert min(sizes.values()) >= 40


def test_a_square_that_must_not_be_held_is_far_larger_than_its_inputs() -> None:
    sizes = large_setting(("n", "bs n"), 4, "n n").sizes
    assert sizes["n"] ** 2 > 10 * sizes["bs"] * sizes["n"]


def test_a_normal_array_has_its_shape_dtype_and_spread() -> None:
    array = normal("bs n").sample(rng(), FIRST)
    assert isinstance(array, Array)
    assert (array.values.shape, array.values.dtype.name, array.axes, array.g) == (
        (40, 30),
        "float32",
        ("bs", "n"),
        None,
    )
    assert abs(array.values.mean()) < 0.1
    assert abs(array.values.std() - 1) < 0.1
    assert abs(normal("bs n", scale=0.1).sample(rng(), FIRST).values.std() - 0.1) < 0.01
    assert normal("n", dtype="float64").sample(rng(), FIRST).values.dtype == np.float64


def test_a_product_with_weights_stays_of_size_one_however_many_rows_they_have() -> None:
    for rows in (4, 4000):
        drawn = weights("n m").sample(rng(), Setting(0, "a test", {"n": rows, "m": 500})).values
        assert drawn.shape == (rows, 500)
        assert 0.9 < (rng(1).standard_normal((50, rows)) @ drawn).std() < 1.1


def test_values_keep_away_from_the_kink_on_both_sides() -> None:
    values = away_from(1.0, "bs n", gap=0.3).sample(rng(), FIRST).values
    assert np.abs(values - 1).min() >= 0.299
    assert (values < 1).any()
    assert (values > 1).any()


def test_every_piece_between_several_kinks_gets_as_many_entries() -> None:
    """So a mask that respects one kink only is wrong somewhere in every trial."""
    values = away_from((-1.0, 0.5, 2.0), "bs n", gap=0.3).sample(rng(), FIRST).values
    assert np.abs(values[..., None] - np.array([-1.0, 0.5, 2.0])).min() >= 0.299
    counts = np.histogram(values, [-np.inf, -1.0, 0.5, 2.0, np.inf])[0]
    assert counts.tolist() == [300] * 4


@pytest.mark.parametrize(("sampler", "values"), [(signs("bs n"), [-1, 1]), (mask("bs n"), [0, 1])])
def test_labels_and_masks_are_balanced_and_have_no_gradient(sampler: Sampler, values: list[int]) -> None:
    drawn = sampler.sample(rng(), FIRST).values
    assert drawn.dtype == np.float32
    assert [np.unique(drawn).tolist(), int((drawn == 1).sum())] == [values, 600]
    assert not sampler.differentiable


@pytest.mark.parametrize("seed", SEEDS)
def test_a_short_mask_is_not_always_open_first(seed: int) -> None:
    """Two entries: one is kept and one dropped, in either order; one entry: kept in some trials only."""
    pair = mask("bs").sample(rng(seed), Setting(0, "", {"bs": 2})).values
    assert sorted(pair.tolist()) == [0, 1]
    draws = rng(seed)
    single = [mask("bs").sample(draws, Setting(0, "", {"bs": 1})).values.item() for _ in range(30)]
    assert set(single) == {0.0, 1.0}


def test_uniform_values_fill_their_range() -> None:
    values = uniform("bs n", -1.0, 3.0).sample(rng(), FIRST).values
    assert (values.min() > -1, values.max() < 3, abs(values.mean() - 1) < 0.1) == (True, True, True)


def test_samplers_take_turns() -> None:
    sampler = taking_turns(uniform("bs", 0, 1), uniform("bs", 5, 6))
    drawn = [sampler.sample(rng(), Setting(i, "", {"bs": 3})).values.max() for i in range(3)]
    assert [value > 1 for value in drawn] == [False, True, False]
    assert (sampler.spec, sampler.differentiable, sampler.turns) == ("bs", True, 2)


def test_a_sampler_may_ask_for_more_trials() -> None:
    assert (tried(9, signs("bs")).least_trials, tried(9, signs("bs")).spec) == (12, "bs")


def test_positive_values_lie_between_their_bounds() -> None:
    values = positive("bs n").sample(rng(), FIRST).values
    assert values.min() >= 0.5
    assert values.max() <= 2.5


@pytest.mark.parametrize("seed", SEEDS)
def test_an_accumulating_argument_has_a_gradient_in_some_trials_and_none_in_others(seed: int) -> None:
    draws = rng(seed)
    found = [accumulating(normal("bs n")).sample(draws, s).g is not None for s in settings(("bs n",), draws)]
    assert found[:2] == [True, False]


@pytest.mark.parametrize("count", range(1, 8))
def test_every_value_has_its_turn_in_an_ordinary_trial(count: int) -> None:
    """A special trial repeats a turn, so an answer that is wrong there only is wrong for what makes it special."""
    sampler = each_of(*range(count))
    series = settings(("bs n",), rng(), sampler.least_trials)
    drawn = [(setting.kind, sampler.sample(rng(), setting)) for setting in series]
    special = {"a batch of one", "a square case", LARGE_UPSTREAM_KIND}
    assert {value for kind, value in drawn if kind not in special} == set(range(count))
    assert [value for kind, value in drawn if kind in special] == [0, min(1, count - 1), 0]


def test_values_and_shapes_have_their_turns_together() -> None:
    """So one argument may depend on the value of another in the same trial."""
    narrow, dim, sizes = normal("n m | m | bs n m"), each_of(0, 1, 2), shape("n m | m | bs n m")
    assert narrow.least_trials == dim.least_trials == sizes.least_trials
    for setting in settings((narrow.spec,), rng(), narrow.least_trials):
        array = narrow.sample(rng(), setting)
        assert array.values.shape == sizes.sample(rng(), setting)
        assert array.axes == (("n", "m"), ("m",), ("bs", "n", "m"))[dim.sample(rng(), setting)]


@pytest.mark.parametrize("seed", SEEDS)
def test_spaced_values_are_never_near_each_other(seed: int) -> None:
    values = spaced("bs n", gap=0.1).sample(rng(seed), Setting(0, "", {"bs": 6, "n": 7})).values
    assert np.diff(np.sort(values.ravel())).min() > 0.099
    assert values.min() < 0 < values.max()
    assert not np.array_equal(values, np.sort(values.ravel()).reshape(6, 7))


@pytest.mark.parametrize("seed", SEEDS)
def test_indices_name_places_some_of_them_twice(seed: int) -> None:
    places = indices("k", "n").sample(rng(seed), Setting(0, "", {"k": 5, "n": 3})).values
    assert places.dtype == np.int64
    assert set(places) <= {0, 1, 2}
    assert len(set(places)) < len(places)


@pytest.mark.parametrize("seed", SEEDS)
def test_several_indices_are_repeated_or_one_occurs_three_times(seed: int) -> None:
    """So code for one repeated index, or for two uses of it, is wrong in some trial.

    Three equal indices do not follow each other at the end, where all but the first would be the last that do; two do,
    so that the last of them is not all that follow each other.
    """
    six, first, second = (
        list(indices("k", "n").sample(rng(seed), Setting(index, "", {"k": count, "n": 50})).values)
        for index, count in ((0, 6), (0, 4), (1, 4))
    )
    assert six[0] == six[1] == six[-1] != six[-3] == six[-2]
    assert first[0] == first[1] == first[3] != first[2]
    assert second[0] == second[3] != second[1] == second[2]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_index_is_drawn_in_every_trial_but_the_second(seed: int) -> None:
    largest = [
        indices("k", "n").sample(rng(seed), Setting(index, "", {"k": 5, "n": 3})).values.max() for index in range(4)
    ]
    assert largest == [2, 1, 2, 2]


def test_a_withheld_input_is_sampled() -> None:
    assert withheld(normal("n")).withheld
    assert withheld(normal("n")).sample(rng(), Setting(0, "", {"n": 3})).values.shape == (3,)


def test_all_names_are_requested_first_and_then_each_alone() -> None:
    sampler = wanted("inp w b")
    drawn = [sampler.sample(rng(), Setting(i, "", {})) for i in range(4)]
    assert drawn[0] == {"inp", "w", "b"}
    assert frozenset.union(*drawn[1:]) == {"inp", "w", "b"}
    assert all(0 < len(names) < 3 for names in drawn[1:])


def test_a_number_lies_between_its_bounds() -> None:
    drawn = [number(0.5, 1.5).sample(rng(seed), FIRST) for seed in SEEDS]
    assert all(type(value) is float and 0.5 <= value <= 1.5 for value in drawn)
    assert len(set(drawn)) == len(drawn)
    assert all(value == np.float32(value) for value in drawn)


def exact_values(samplers: dict[str, Sampler], seed: int, **sizes: int) -> list[np.ndarray]:
    """Return the arrays of a trial with exact entries, drawn by these samplers."""
    setting = Setting(5, "a test", sizes)
    drawn = {name: sampler.sample(rng(seed), setting) for name, sampler in samplers.items()}
    numbers = {name: sampler.exact_in(setting) for name, sampler in samplers.items()}
    return [array.values for array in with_exact_entries(drawn, numbers, rng(100 + seed)).values()]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_table_with_exact_entries_has_a_row_and_a_column_of_zeros(seed: int) -> None:
    (values,) = exact_values({"x": normal("n m")}, seed, n=7, m=8)
    assert values.dtype == np.float32
    assert (values == 0).all(0).any()
    assert (values == 0).all(1).any()
    assert np.isin(values * 2, range(-6, 7)).mean() < 0.9, "others are as they were drawn"


def test_the_largest_entry_is_there_twice_along_every_axis() -> None:
    tied = []
    for seed in SEEDS:
        (values,) = exact_values({"x": spaced("n m")}, seed, n=7, m=8)
        lines = [line for line in (*values, *values.T) if line.any()]
        tied += [(line == line.max()).sum() > 1 for line in lines]
    assert 0.2 < np.mean(tied) < 0.8


@pytest.mark.parametrize("seed", range(300))
def test_two_entries_other_than_zero_are_equal(seed: int) -> None:
    """A gradient that was shared among equal entries was right in one run of a hundred."""
    for values in exact_values({"x": normal("n"), "df": normal("n")}, seed, n=5):
        others = values[values != 0]
        assert np.unique(others).size < others.size or others.size < 2


def test_arrays_of_one_size_have_some_equal_entries_in_the_same_places() -> None:
    pairs = [exact_values({"a": normal("n 1"), "b": normal("n")}, seed, n=6) for seed in SEEDS]
    assert all((a[:, 0] == b).sum() > 0 for a, b in pairs)
    assert not any((a[:, 0] == b).all() for a, b in pairs)


@pytest.mark.parametrize(
    ("sampler", "numbers"),
    [
        (away_from((-1.0, 0.5), "n"), {-1.0, 0.0, 0.5}),
        (away_from((-1.0, 0.03125), "n"), {-1.0, 0.03125}),
        (uniform("n", 0.1, 0.9), {0.25, 0.5, 0.75}),
        (uniform("n", 0.0, 1.0), {0.0, 0.25, 0.5, 0.75, 1.0}),
        (positive("n"), {0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5}),
    ],
)
def test_exact_entries_are_kinks_or_in_the_range_of_the_sampler(sampler: Sampler, numbers: set[float]) -> None:
    setting = Setting(5, "a test", {"n": 200})
    drawn = {"x": sampler.sample(rng(), setting)}
    values = with_exact_entries(drawn, {"x": sampler.exact_in(setting)}, rng(1))["x"].values
    changed = values[values != drawn["x"].values].tolist()
    assert set(changed) - {drawn["x"].values.max()} == numbers, "a tie of the largest beside them"


@pytest.mark.parametrize("seed", range(40))
def test_the_ends_of_a_range_and_every_kink_are_entries(seed: int) -> None:
    """Also where another array of the same size gives it some entries, and with a row and a column of zeros."""
    samplers = {"inp": uniform("n", 0.1, 0.9), "targ": uniform("n", 0.0, 1.0)}
    _, target = exact_values(samplers, seed, n=16)
    assert {0.0, 1.0} <= set(target.tolist())
    (cut,) = exact_values({"x": away_from((-1.0, 0.5), "n m")}, seed, n=5, m=4)
    assert {-1.0, 0.0, 0.5} <= set(cut.ravel().tolist())


def test_a_number_far_from_all_entries_is_left_out() -> None:
    (values,) = exact_values({"x": spaced("n")}, 1, n=40)
    assert abs(values).max() < 10


def test_samplers_in_turn_have_their_own_exact_entries_each() -> None:
    sampler = taking_turns(away_from((-1.0, 0.5), "n"), away_from((0.25, 1.5), "n"))
    found = [sampler.exact_in(Setting(index, "a test", {"n": 4})) for index in (0, 1)]
    assert found == [(-1.0, 0.5, 0.0), (0.25, 1.5, 0.0)]


def test_the_same_seed_draws_the_same_values() -> None:
    first, second = (normal("bs n").sample(rng(3), FIRST).values for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_reading_a_declaration_imports_neither_torch_nor_numpy() -> None:
    """Collecting tests and printing help stay instant."""
    modules = "grader.course.exercise, grader.course.sampling, grader.course.course"
    code = f"import sys, {modules}; print({{'torch', 'numpy'}} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"


@pytest.mark.parametrize("seed", SEEDS)
def test_an_axis_has_one_of_the_sizes_that_it_may_have_but_for_the_batch_of_one(seed: int) -> None:
    allowed = {"bs": (4, 5, 6), "k": (2, 3), "l": (8, 9)}
    for setting in settings(("bs c l", "o c k"), rng(seed), 7, allowed):
        held = {axis: size in allowed[axis] for axis, size in setting.sizes.items() if axis in allowed}
        assert all(held.values()) or (setting.kind == ONE_KIND and not held.pop("bs") and all(held.values()))
    first = settings(("bs c l", "o c k"), rng(seed), 0, allowed)[0].sizes
    assert len(set(first.values())) == len(first)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_square_has_a_side_that_every_axis_may_have_if_there_is_one(seed: int) -> None:
    sizes = settings(("bs n m",), rng(seed), 0, {"bs": (4, 5, 6), "n": (2, 4)})[3].sizes
    assert set(sizes.values()) == {4}
