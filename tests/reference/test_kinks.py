"""What is right at a kink or a tie: any slope between those on both sides, shares that add up, and nothing else.

`thorough/test_every_kink.py` has every way to write a kink, and more seeds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from grader.course.exercise import Answer, Exercise
from grader.course.sampling import Array, normal, output
from grader.course.trial_sizes import Setting
from grader.reference.kinks import AllowedGradient, allowed_gradient, wrong_shares
from grader.reference.references import autograd_answer
from grader.reference.trial import Trial

BOUND = 1e-5
W = torch.tensor([[0.7, -1.3, 0.4], [1.1, 0.6, -0.8], [-0.5, 0.9, 1.7]], dtype=torch.float64)
V = torch.tensor([[1.2, -0.7], [-0.4, 0.9], [0.8, 1.5]], dtype=torch.float64)


def tensor(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def allowed(forward, x, g):
    """What is right for `forward(x)` with the upstream gradient `g`, and torch's own gradient."""
    inputs = {"x": x.double()}
    exercise = Exercise("a kink", lambda x: forward(x), {"out": output(), "x": normal("n m")}, (Answer("x.g", "x"),))
    (answer,) = exercise.answers
    expected = autograd_answer(exercise, answer, inputs, g.double())
    arguments = {"x": _Plain()}
    trial = Trial(Setting(0, "a kink", {}), arguments, {"x.g": expected}, inputs, forward(inputs["x"]), g.double())
    return allowed_gradient(exercise, answer, trial), expected


class _Plain:
    """An argument that carries no gradient yet."""

    g = None


G = tensor([0.9, -1.4, 0.6], [1.3, 0.5, -2.1])
X = tensor([0.0, -1.0, 2.0], [1.5, 0.0, 0.0])


def at_zeros(slope, elsewhere):
    """Return the gradient of an entrywise function whose slope at 0 is `slope`."""
    return (G * torch.where(X == 0, torch.tensor(slope).double(), elsewhere)).numpy()


STEP, SIGN = (X > 0).double(), X.sign()
ENTRYWISE = {
    "relu": (torch.relu, STEP, (0, 1)),
    "relu by a mask": (lambda x: x * (x > 0), STEP, (0, 1)),
    "relu by where": (lambda x: torch.where(x > 0, x, torch.zeros_like(x)), STEP, (0, 1)),
    "relu by a maximum": (lambda x: torch.maximum(x, torch.zeros_like(x)), STEP, (0, 1)),
    "relu in place": (lambda x: (x * 1).relu_(), STEP, (0, 1)),
    "clamp": (lambda x: x.clamp(min=0), STEP, (0, 1)),
    "clamp of both sides": (lambda x: x.clamp(0, 1.7), ((X > 0) & (X < 1.7)).double(), (0, 1)),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), STEP + 0.2 * (1 - STEP), (0.2, 1)),
    "abs": (torch.abs, SIGN, (-1, 1)),
}
FEW = ("leaky_relu",)


@pytest.mark.parametrize("name", list(ENTRYWISE)[::3])
def test_an_entry_at_a_kink_may_have_any_slope_between_those_of_both_sides(name):
    forward, elsewhere, (low, high) = ENTRYWISE[name]
    right, _ = allowed(forward, X, G)
    for slope in (low, high, (low + high) / 2, low + 0.9 * (high - low)):
        assert right.accepts(at_zeros(slope, elsewhere), BOUND), slope
    for slope in (low - 0.1, high + 0.1, -3.0, 1e6, float("nan"), float("inf")):
        assert not right.accepts(at_zeros(slope, elsewhere), BOUND), slope


@pytest.mark.parametrize("name", FEW)
def test_entries_that_are_not_at_a_kink_are_judged_as_before(name):
    forward, elsewhere, (low, high) = ENTRYWISE[name]
    right, _ = allowed(forward, X, G)
    for slope in (low, high):
        array = at_zeros(slope, elsewhere)
        for factor in (3, 0.5, 1.001, -1):
            assert not right.accepts(np.where(X == 0, array, factor * array + 1e-3), BOUND)
            assert not right.accepts(factor * array + 1e-3, BOUND)
        for index in np.argwhere((X != 0).numpy()):
            moved = array.copy()
            moved[tuple(index)] += 1e-3
            found = right.compare(moved, BOUND)
            assert found.wrong[tuple(index)]


@pytest.mark.parametrize("at", [0.0, 1.5])
def test_a_number_is_judged_like_any_other_entry(at):
    right, _ = allowed(lambda x: torch.relu(x) * W, torch.tensor(at), W.cos())
    for slope in (0.0, 0.5, 1.0):
        assert right.accepts(slope * np.asarray((W * W.cos()).sum()), BOUND) == (at == 0 or slope == 1)
    for slope in (-0.2, 1.2, 3.0, float("nan"), float("inf")):
        assert not right.accepts(slope * np.asarray((W * W.cos()).sum()), BOUND)


@pytest.mark.parametrize("column", range(5))
@pytest.mark.parametrize("row", range(6))
def test_a_single_kink_of_a_difference_is_seen_wherever_it_is(row, column):
    """The first few moves may all leave the only difference at a kink on the same side."""
    x = torch.from_numpy(np.random.default_rng(0).permutation(36) / 10.0).view(6, 6)
    x[row, column] = x[row, -1]
    right, expected = allowed(lambda x: (x - x[:, -1:]).clamp_min(0), x, torch.ones(6, 6))
    for slope in (0.0, 1.0):
        given = (x > x[:, -1:]).double()
        given[row, column] = slope
        given[:, -1] = -given.sum(1)
        given[:, -1] += torch.from_numpy(expected[:, -1] + expected[:, :-1].sum(1))  # the last column less itself
        assert right.accepts(given.numpy(), BOUND)


def test_another_convention_at_a_kink_is_counted_and_a_smooth_function_has_no_kinks():
    right, expected = allowed(torch.relu, X, G)
    found = right.compare(at_zeros(1.0, STEP), BOUND)
    assert found.convention.sum() == 3
    assert not found.wrong.any()
    smooth, _ = allowed(torch.tanh, X, G)
    assert smooth.is_smooth
    assert not smooth.accepts((G * (X == 0)).numpy(), BOUND)
    assert not right.accepts(expected[:1], BOUND)


def shares(*rows):
    return np.array(rows, dtype="float64")


TIED = tensor([1.0, 3.0, 3.0, 2.0], [0.5, 0.5, 0.5, 0.1])
PER_ROW = tensor([0.8], [-1.3]).flatten()
FOUR, THREE = PER_ROW.numpy()
TIES = {
    "amax": (lambda x: x.amax(1), 0),
    "max of an axis": (lambda x: x.max(1).values, 0),
    "topk": (lambda x: x.topk(1, 1).values[:, 0], 0),
    "the last of a sort": (lambda x: x.sort(1).values[:, -1], 0),
    "by an argmax": (lambda x: x.gather(1, x.argmax(1, keepdim=True))[:, 0], 0),
    "a pool": (lambda x: F.max_pool1d(x[:, None], 4)[:, 0, 0], 0),
    "weighed": (lambda x: (2 * x).amax(1) / 2, 0),
    "minus the least": (lambda x: -(-x).amin(1), 0),
    "equal to the largest": (
        lambda x: (x * (x == x.amax(1, keepdim=True))).sum(1) / (x == x.amax(1, keepdim=True)).sum(1), None,
    ),
    "a norm": (lambda x: torch.linalg.vector_norm(x, float("inf"), 1), 0),
}  # fmt: skip


SHARED = [name for name in TIES if TIES[name][1] is not None]


@pytest.mark.parametrize("name", SHARED[::3])
def test_equal_entries_share_the_gradient_of_the_largest(name):
    right, _ = allowed(TIES[name][0], TIED, PER_ROW)

    def rows(first, second):
        return shares([0, first[0] * FOUR, first[1] * FOUR, 0], [*(np.array(second) * THREE), 0])

    for first in ([1, 0], [0, 1], [0.5, 0.5], [0.9, 0.1]):
        for second in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1 / 3] * 3, [0.5, 0.25, 0.25]):
            assert right.accepts(rows(first, second), BOUND), (first, second)
    good_one, good_two = [1, 0], [0, 1, 0]
    for first in ([1, 1], [0, 0], [0.5, 0], [2, -1], [1, 0.5]):
        assert not right.accepts(rows(first, good_two), BOUND), first
    for second in ([1, 1, 1], [0, 0, 0], [1, 1, 0], [0.5, 0.25, 0], [1, 1, -1]):
        assert not right.accepts(rows(good_one, second), BOUND), second
    assert not right.accepts(rows([1, 1], [1, 1, 1]), BOUND)
    assert not right.accepts(rows([0, 0], [0, 0, 0]), BOUND)
    wrong = rows([0.5, 0.5], good_two)
    wrong[0, 0] += 0.1
    assert not right.accepts(wrong, BOUND)


def test_gradients_of_an_exact_comparison_are_dropped():
    """No entry equals a maximum that has been moved, so such gradients say nothing about ties."""
    right, expected = allowed(TIES["equal to the largest"][0], TIED, PER_ROW)
    assert right.accepts(expected, BOUND)
    assert not right.accepts(0 * expected, BOUND)
    alone, expected = allowed(TIES["equal to the largest"][0], TIED + tensor([0, 0.1, 0, 0], [0.1, 0, 0, 0]), PER_ROW)
    assert alone.accepts(expected, BOUND)
    assert not alone.accepts(0 * expected, BOUND)


def test_entries_that_only_their_weights_make_equal_share_in_proportion():
    weights = tensor(1.0, 2.0, -4.0)
    right, _ = allowed(lambda x: (x * weights).amax(1), tensor([4.0, 2.0, -1.0]), tensor(1.5))
    for share in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0.2, 0.3, 0.5]):
        assert right.accepts((1.5 * tensor(share) * weights).numpy(), BOUND), share
    for share in ([1, 1, 0], [0, 0, 0], [1, 1, 1], [0.2, 0.3, 0.3]):
        assert not right.accepts((1.5 * tensor(share) * weights).numpy(), BOUND), share


def winners_of_pools(x, g, size, stride, last):
    """The gradient of a pool over windows of a row, where the first or the last of equal entries has all."""
    found = np.zeros(x.shape)
    for row in range(len(x)):
        for k in range(g.shape[1]):
            window = x[row, k * stride : k * stride + size].numpy()
            places = np.flatnonzero(window == window.max())
            found[row, k * stride + places[-1 if last else 0]] += float(g[row, k])
    return found


@pytest.mark.parametrize("last", [False, True])
def test_windows_that_overlap_share_their_ties(last):
    x = tensor([0, 0, 0, 1, 0, 0, 0], [0.5, 0, 0, 0, 0, 2, 2])
    g = tensor([0.7, -0.7, 1.1, 0.3, -0.9], [1.0, -0.5, 0.6, 0.8, -1.7])
    right, _ = allowed(lambda x: F.max_pool1d(x[:, None], 3, 1)[:, 0], x, g)
    array = winners_of_pools(x, g, 3, 1, last)
    assert right.accepts(array, BOUND)
    assert not right.accepts(array * 2, BOUND)
    both = array + np.where(x.numpy() == 0, winners_of_pools(x, g, 3, 1, not last), 0)
    assert not right.accepts(both, BOUND)


@pytest.mark.parametrize("seed", range(1))
def test_windows_full_of_ties_may_share_evenly(seed):
    """Each entry is in nine windows, and has another share in each of them."""
    rng = np.random.default_rng(seed)
    x, g = torch.from_numpy(rng.integers(0, 2, (5, 5)).astype("float64")), torch.from_numpy(rng.standard_normal((3, 3)))
    right, _ = allowed(lambda x: F.max_pool2d(x[None], 3, 1)[0], x, g)
    array = autograd_answer(
        Exercise("even", lambda x: x.unfold(0, 3, 1).unfold(1, 3, 1).flatten(2).amax(2),
                 {"out": output(), "x": normal("n m")}, (Answer("x.g", "x"),)),
        Answer("x.g", "x"), {"x": x}, g,
    )  # fmt: skip
    assert right.accepts(array, BOUND)
    assert not right.accepts(2 * array, BOUND)
    assert not right.accepts(1.2 * array, BOUND)


def trial_of(forward, upstream, **inputs):
    """Return an exercise with these arrays as inputs, all of them differentiated, and its trial."""
    values = {name: torch.tensor(numbers, dtype=torch.float64) for name, numbers in inputs.items()}
    answers = tuple(Answer(f"{name}.g", name) for name in inputs)
    exercise = Exercise("several", forward, {"out": output(), **dict.fromkeys(inputs, normal("n"))}, answers)
    g = torch.tensor(upstream, dtype=torch.float64)
    expected = {answer.name: autograd_answer(exercise, answer, values, g) for answer in answers}
    plain = dict.fromkeys(inputs, _Plain())
    return exercise, Trial(Setting(0, "several", {}), plain, expected, values, forward(**values), g)


def accepts(forward, x, upstream, array):
    """Return whether an array is right as the gradient of a vector."""
    exercise, trial = trial_of(forward, upstream, x=x)
    return allowed_gradient(exercise, exercise.answers[0], trial).accepts(np.array(array, "float64"), BOUND)


def answers_with_wrong_shares(exercise, trial, *arrays):
    """Return the names of the answers whose shares do not add up, though each array is right by itself."""
    given = {answer: np.array(array, "float64") for answer, array in zip(exercise.answers, arrays, strict=True)}
    for answer, array in given.items():
        assert allowed_gradient(exercise, answer, trial).accepts(array, BOUND), answer.name
    found = wrong_shares(exercise, trial, given, BOUND)
    assert all(mask.any() and mask.shape == given[answer].shape for answer, mask in found.items())
    return [answer.name for answer in found]


def test_equal_entries_of_two_inputs_share_too():
    g = np.array([0.7, -1.2, 0.4])
    exercise, trial = trial_of(lambda a, b: torch.maximum(a, b), list(g), a=[1.0, 2, 3], b=[1.0, 0, 3])
    for share in (0, 1, 0.5, 0.2):
        shares_of_both = g * [share, 1, share], g * [1 - share, 0, 1 - share]
        assert answers_with_wrong_shares(exercise, trial, *shares_of_both) == []
    for a, b in (([1, 1, 1], [1, 0, 1]), ([0, 1, 0], [0, 0, 0]), ([1, 1, 0.5], [0, 0, 0])):
        assert answers_with_wrong_shares(exercise, trial, g * a, g * b) == ["b.g"]


def test_an_even_share_does_not_add_up_with_all_for_the_other():
    exercise, trial = trial_of(lambda a, b: torch.maximum(a, b), [3.0, 1, 1], a=[2.0, 1, 0], b=[2.0, 0, 1])
    assert answers_with_wrong_shares(exercise, trial, [3, 1, 0], [1.5, 0, 1]) == ["b.g"]
    assert answers_with_wrong_shares(exercise, trial, [1.5, 1, 0], [3, 0, 1]) == ["b.g"]


def test_a_tie_that_is_wrong_leaves_other_ties_right():
    def forward(a, b, c, d):
        return torch.maximum(a, b) + 2 * torch.maximum(c, d)

    exercise, trial = trial_of(forward, [1.0, 1.0], a=[1.0, 2], b=[1.0, 0], c=[3.0, 0], d=[3.0, 1])
    assert answers_with_wrong_shares(exercise, trial, [1, 1], [1, 0], [2, 0], [0, 2]) == ["b.g"]
    assert answers_with_wrong_shares(exercise, trial, [1, 1], [0, 0], [2, 0], [2, 2]) == ["d.g"]
    assert answers_with_wrong_shares(exercise, trial, [1, 1], [1, 0], [0, 0], [0, 2]) == ["b.g", "d.g"]


def test_prior_gradients_of_inputs_are_not_shared():
    exercise, trial = trial_of(lambda a, b: torch.maximum(a, b), [1.0, 2.0], a=[1.0, 0], b=[1.0, 1])
    for name, prior in (("a", np.array([5.0, 7.0])), ("b", np.array([-3.0, 0.5]))):
        trial.arguments[name] = Array(trial.inputs[name].numpy(), ("n",), prior)
        trial.expected[f"{name}.g"] = trial.expected[f"{name}.g"] + prior
    assert answers_with_wrong_shares(exercise, trial, [6, 7], [-3, 2.5]) == []
    assert answers_with_wrong_shares(exercise, trial, [6, 7], [-2, 2.5]) == ["b.g"]


@pytest.mark.parametrize("shares", [[2, 0, 0], [0, 2, 0], [1, 1, 0], [0.5, 1.5, 0]])
def test_equal_maxima_of_a_vector_may_share_in_any_way(shares):
    assert accepts(lambda x: x.amax(0, True), [4.0, 4, 1], [2.0], shares)


@pytest.mark.parametrize("shares", [[2, 2, 0], [0, 0, 0], [1, 0.5, 0], [3, -1, 0], [1, 0.5, 0.5]])
def test_shares_of_equal_maxima_add_up_to_the_upstream_gradient(shares):
    assert not accepts(lambda x: x.amax(0, True), [4.0, 4, 1], [2.0], shares)


def test_all_of_many_ties_are_found():
    """Each of nine equal entries in thirty rows may get the gradient, however rarely a move makes it the largest."""

    def forward(x):
        return x.reshape(30, 9).amax(1)

    assert accepts(forward, [0.0] * 270, [1.0] * 30, [1 / 9] * 270)
    assert accepts(forward, [0.0] * 270, [1.0] * 30, np.eye(9)[np.arange(30) % 9].ravel())
    assert not accepts(forward, [0.0] * 270, [1.0] * 30, [1.0] * 270)
    assert not accepts(forward, [0.0] * 270, [1.0] * 30, [1 / 9] * 261 + [1 / 8] * 9)


@pytest.mark.parametrize("seed", range(3))
def test_even_shares_in_an_array_that_is_nearly_all_ties(seed):
    """An even share is right for any number of ties, though few nearby gradients have a single largest entry."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 2, (6, 9, 7), generator=draw).double()
    g = torch.randn(6, 7, generator=draw, dtype=torch.float64)
    right, _ = allowed(lambda x: x.max(1).values, x, g)
    ties = (x == x.amax(1, keepdim=True)).double()
    shares = (g.unsqueeze(1) * ties / ties.sum(1, keepdim=True)).numpy()
    assert right.accepts(shares, BOUND)
    assert not right.accepts((g.unsqueeze(1) * ties).numpy(), BOUND)


def test_kinks_of_one_layer_are_closed_and_opened_one_by_one():
    """The input b is used at two kinks, and its gradient may have the contribution of none, of either, or of both."""
    exercise, trial = trial_of(lambda x, b: (x + b).relu(), [2.0, 3.0, 7.0], x=[0.0, 0, 1], b=[0.0])
    right = allowed_gradient(exercise, exercise.answers[1], trial)
    for opened in (0, 2, 3, 5):
        assert right.accepts(np.array([7.0 + opened]), BOUND), opened
    for opened in (-1, 6):
        assert not right.accepts(np.array([7.0 + opened]), BOUND), opened


def normed(x):
    return (x - x.mean()) / ((x - x.mean()).pow(2).mean() + 1e-5).sqrt()


@pytest.mark.parametrize(
    ("forward", "x"), [(lambda x: x.tanh() * x, [0.0, 0, 1]), (normed, [0.0, 0, 0])], ids=["tanh", "a variance of 0"]
)
def test_where_there_is_no_kink_there_is_no_other_answer(forward, x):
    exercise, trial = trial_of(forward, [1.0, 2.0, 3.0], x=x)
    right = allowed_gradient(exercise, exercise.answers[0], trial)
    assert right.is_smooth
    assert not right.accepts(right.expected * 1.0001, BOUND)


def test_a_comparison_is_the_same_whatever_was_compared_before():
    exercise, trial = trial_of(lambda x: x.reshape(30, 9).amax(1), [1.0] * 30, x=[0.0] * 270)
    arrays = [np.full(270, share) for share in (1 / 9, 1.0, 0.0)] + [np.eye(9)[np.arange(30) % 9].ravel()]
    alone = [allowed_gradient(exercise, exercise.answers[0], replace(trial, memo={})) for _ in arrays]
    before = [right.compare(array, BOUND) for right, array in zip(alone, arrays, strict=True)]
    once = allowed_gradient(exercise, exercise.answers[0], trial)
    for array, expected in [*zip(arrays, before, strict=True)][::-1]:
        found = once.compare(array, BOUND)
        for name in ("wrong", "convention", "kinks", "low", "high"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_the_gradient_of_torch_is_right_before_any_nearby_one_is_computed():
    def gradient_of(move):
        raise AssertionError("a nearby gradient is computed")

    right = AllowedGradient(np.array([1.0, 0.0]), gradient_of)
    assert right.accepts(np.array([1.0 + 1e-7, 0.0]), BOUND)


def test_a_large_picture_of_zeros_behind_a_relu():
    picture = torch.randn(2, 16, 16, generator=torch.Generator().manual_seed(3)).double().relu()
    g = torch.randn(2, 8, 8, generator=torch.Generator().manual_seed(4)).double()
    right, expected = allowed(lambda x: F.max_pool2d(x, 2), picture, g)
    tiles = picture.reshape(2, 8, 2, 8, 2).permute(0, 1, 3, 2, 4).reshape(2, 8, 8, 4)
    equal = (tiles == tiles.amax(-1, keepdim=True)).double()

    def back(part):
        return (part * g[..., None]).reshape(2, 8, 8, 2, 2).permute(0, 1, 3, 2, 4).reshape(2, 16, 16).numpy()

    assert right.accepts(expected, BOUND)
    assert right.accepts(back(equal / equal.sum(-1, keepdim=True)), BOUND)
    last = equal.flip(-1).cumsum(-1).flip(-1) == 1
    assert right.accepts(back(equal * last), BOUND)
    assert not right.accepts(back(equal), BOUND)
    assert not right.accepts(back(equal * (equal.sum(-1, keepdim=True) == 1)), BOUND)


def test_the_largest_of_a_whole_array_of_zeros():
    right, expected = allowed(lambda x: x.amax(), torch.zeros(12, 12), tensor(2.0)[0])
    assert right.accepts(expected, BOUND)
    first = np.zeros((12, 12))
    first[0, 0] = 2
    assert right.accepts(first, BOUND)
    assert right.accepts(np.roll(first, 77), BOUND)
    assert not right.accepts(np.full((12, 12), 2.0), BOUND)
    assert not right.accepts(np.zeros((12, 12)), BOUND)


def test_a_sort_gives_each_of_two_equal_entries_one_of_two_gradients():
    x, g = tensor([1.0, 3.0, 1.0, 2.0]), tensor([0.3, -0.8, 1.2, 0.5])
    right, _ = allowed(lambda x: x.sort(1).values, x, g)
    for own in ([0.3, 0.5, -0.8, 1.2], [-0.8, 0.5, 0.3, 1.2], [-0.25, 0.5, -0.25, 1.2]):
        assert right.accepts(shares(own), BOUND), own
    for own in ([0.3, 0.5, 0.3, 1.2], [-0.5, 0.5, -0.5, 1.2], [0, 0.5, 0, 1.2], [0.3, 1.2, -0.8, 0.5]):
        assert not right.accepts(shares(own), BOUND), own


def test_a_median_of_equal_entries_goes_to_any_of_them():
    """Moving one of five equal entries does not change the median, but one of them may get the whole gradient."""
    right, _ = allowed(lambda x: x.median(1).values, tensor([2.0, 2, 2, 2, 2]), tensor(1.0))
    for place in range(5):
        assert right.accepts(np.eye(5)[[place]], BOUND), place
    assert right.accepts(np.full((1, 5), 0.2), BOUND)
    assert not right.accepts(np.ones((1, 5)), BOUND)
    assert not right.accepts(np.zeros((1, 5)), BOUND)


ROWS = tensor([0.0, 0, 0], [0.3, -0.8, 0.5], [0.0, 0, 0])
UP = tensor([1.0, -2.0], [0.4, 0.7], [-1.1, 0.6])


@pytest.mark.parametrize("one", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("two", [0.0, 1.0])
def test_a_row_of_zeros_behind_two_layers_takes_any_convention_of_each(one, two):
    """Both layers are at a kink for every entry of the row at once, and what is chosen in them multiplies."""
    right, _ = allowed(lambda x: ((x @ W).relu() @ V).relu(), ROWS, UP)
    first, hidden = ROWS @ W, (ROWS @ W).relu()
    second = hidden @ V
    g = UP * torch.where(second == 0, two, (second > 0).double())
    g = (g @ V.T) * torch.where(first == 0, one, (first > 0).double())
    array = (g @ W.T).numpy()
    assert right.accepts(array, BOUND)
    assert not right.accepts(np.where(ROWS != 0, 3 * array, array), BOUND)
    assert not right.accepts(3 * array + np.where(ROWS == 0, 1e6, 0), BOUND)


def test_jumps_and_constant_masks_are_no_kinks():
    mask = tensor([1.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    masked, _ = allowed(lambda x: torch.where(mask > 0, x, torch.zeros_like(x)).relu(), X.abs() + 1, G)
    assert masked.accepts((G * mask).numpy(), BOUND)
    assert not masked.accepts(G.numpy(), BOUND)
    whole, _ = allowed(lambda x: x - x.floor(), X, G)
    assert whole.accepts(G.numpy(), BOUND)
    assert not whole.accepts((0 * G).numpy(), BOUND)


def test_an_entry_without_a_finite_gradient_is_not_judged_and_the_others_are():
    right, expected = allowed(torch.sqrt, tensor([0.0, 4.0]), tensor([1.0, 1.0]))
    assert np.isinf(expected[0, 0])
    found = right.compare(shares([7.0, 0.25]), BOUND)
    assert found.unjudged.tolist() == [[True, False]]
    assert not found.wrong.any()
    assert right.compare(shares([7.0, 0.5]), BOUND).wrong.tolist() == [[False, True]]


@pytest.mark.parametrize("seed", range(2))
def test_gradients_taken_beside_a_kink_are_right_and_none_is_twice_as_large(seed):
    """Drawn forward passes with kinks in several places, at inputs that are full of zeros and repeated entries."""
    rng = np.random.default_rng(seed)
    draw = [
        lambda x: x.relu().amax(0),
        lambda x: (x @ W).relu().sort(1).values,
        lambda x: torch.maximum(x, x.flip(1)).abs(),
        lambda x: x.clamp(-1, 1).topk(2, 1).values,
        lambda x: F.max_pool2d(x[None].relu(), 2, 1)[0],
        lambda x: (x - x.amin(1, keepdim=True)).relu() @ V,
    ]
    forward = draw[seed]
    x = torch.from_numpy(rng.integers(-1, 2, (4, 3)).astype("float64"))
    g = torch.from_numpy(rng.standard_normal(tuple(forward(x).shape)))
    right, expected = allowed(forward, x, g)
    assert right.accepts(expected, BOUND)
    for _ in range(5):
        beside, _ = allowed(forward, x + 1e-7 * torch.from_numpy(rng.standard_normal((4, 3))), g)
        assert right.accepts(beside.expected, BOUND)
        assert right.accepts((beside.expected + expected) / 2, BOUND)
        assert not right.accepts(2 * beside.expected, BOUND)


def test_small_slopes_in_a_large_array_are_kinks_too():
    """Of a thousand zeros some have an upstream gradient that is a ten-thousandth of the largest."""
    random = torch.Generator().manual_seed(0)
    x, g = (torch.randn(50, 40, generator=random).double() for _ in range(2))
    x, g = x.relu(), torch.where(torch.arange(2000).reshape(50, 40) % 7 == 0, 1e-4 * g, g)
    right, _ = allowed(torch.relu, x, g)
    assert right.accepts((g * (x >= 0)).numpy(), BOUND)
    assert not right.accepts((g * (x >= 0) * 1.001).numpy(), BOUND)
