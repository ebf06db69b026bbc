"""Relations that need no graph: constants, transposes, sums, answers right in some trials only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from grader.diagnosis.relations import candidates, constant, passes_where, same_shape
from grader.exercise import Answer
from grader.reference.compare import agrees
from grader.reference.trial import Trial
from grader.sampling import Array
from grader.trial_sizes import Setting

ANSWER = Answer("w.g", "w")
SIZES = ({"bs": 7, "n": 5}, {"bs": 3, "n": 4}, {"bs": 1, "n": 6}, {"bs": 4, "n": 4})
KINDS = ("pairwise different sizes", "other sizes", "a batch of one", "a square case")
Change = Callable[[Trial, np.ndarray], Any]


def trials(axes: tuple[str, ...] = ("bs", "n"), **extra: Sequence[Any]) -> list[Trial]:
    """Four trials whose answer has these axes; extra arguments take one value in each."""
    rng = np.random.default_rng(0)
    found = []
    for i, (sizes, kind) in enumerate(zip(SIZES, KINDS, strict=True)):
        shape = tuple(sizes[axis] for axis in axes)
        right, values, out = (rng.standard_normal(shape) for _ in range(3))
        arguments = {"w": Array(values, axes), **{name: value[i] for name, value in extra.items()}}
        inputs = {"w": torch.from_numpy(values)}
        found.append(
            Trial(
                Setting(i, kind, sizes),
                arguments,
                {"w.g": right},
                inputs,
                torch.from_numpy(out),
                torch.from_numpy(out + 1),
            )
        )
    return found


def pairs(
    change: Change, axes: tuple[str, ...] = ("bs", "n"), **extra: Sequence[Any]
) -> list[tuple[Trial, np.ndarray]]:
    return [(t, np.asarray(change(t, t.expected["w.g"]))) for t in trials(axes, **extra)]  # type: ignore[arg-type]


def test_the_same_number_everywhere_is_a_constant() -> None:
    assert constant(pairs(lambda t, r: np.full_like(r, 6))) == "every entry is 6, whatever the inputs are"
    assert constant(pairs(lambda t, r: np.full_like(r, t.setting.index))) is None
    assert constant(pairs(lambda t, r: r)) is None


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_zeros_and_ones_are_constants_only_when_nothing_else_is_known(value: float) -> None:
    filled = pairs(lambda t, r: np.full_like(r, value))
    assert constant(filled) is None
    assert constant(filled, trivial=True) == f"every entry is {value:g}, whatever the inputs are"


def test_one_trial_alone_proves_no_constant() -> None:
    assert constant(pairs(lambda t, r: np.full_like(r, 6))[:1]) is None


def test_the_same_shape_in_every_trial_is_hard_coded() -> None:
    assert same_shape(ANSWER, pairs(lambda t, r: np.zeros((7, 5)))) == "its shape is (7, 5) whatever the sizes are"
    assert same_shape(ANSWER, pairs(lambda t, r: r)) is None
    assert same_shape(ANSWER, pairs(lambda t, r: np.zeros(()))) is None


@pytest.mark.parametrize(
    ("right_in", "code", "says"),
    [
        ({"a square case"}, "shape-special", "it is right only in a square case (bs=4, n=4)"),
        ({"a square case", "a batch of one"}, "shape-special", "a batch of one (bs=1, n=6) and a square case"),
        (set(KINDS) - {"a batch of one"}, "shape-special", "it is right except in a batch of one (bs=1, n=6)"),
    ],
)
def test_an_answer_that_is_right_for_some_sizes_only_is_shape_special(right_in: set[str], code: str, says: str) -> None:
    special = passes_where(ANSWER, pairs(lambda t, r: r if t.setting.kind in right_in else r + 1), agrees)
    assert special is not None
    assert special[0] == code
    assert says in special[1]


def test_an_answer_that_is_right_in_a_batch_of_one_alone_is_not_told_to_be_shape_special() -> None:
    """One example alone hides whatever mixes several, so that says little about the mistake."""
    alone = pairs(lambda t, r: r if t.setting.kind == "a batch of one" else r + 1)
    assert passes_where(ANSWER, alone, agrees) is None


def test_a_trial_whose_right_answer_is_zero_proves_nothing() -> None:
    """Zeros come easily: they do not make an answer right for that size."""

    def change(trial: Trial, right: np.ndarray) -> np.ndarray:
        return right if trial.setting.kind == "a square case" else right + 1

    found = pairs(change)
    nothing = [
        (replace(t, expected={"w.g": 0 * r}) if t.setting.kind == "a square case" else t, a)
        for (t, a), (_, r) in zip(found, pairs(change), strict=True)
    ]
    nothing = [(t, 0 * a if t.setting.kind == "a square case" else a) for t, a in nothing]
    assert passes_where(ANSWER, found, agrees) is not None
    assert passes_where(ANSWER, nothing, agrees) is None


def test_an_answer_that_is_right_for_one_integer_only_is_hard_coded() -> None:
    found = pairs(lambda t, r: r if t.arguments["k"] == 2 else r + 1, k=(2, 3, 4, 2))
    assert passes_where(ANSWER, found, agrees) == ("hard-coded", "it is right only where k is 2")


OPTIONS: dict[str, tuple[dict[str, Sequence[Any]], set[int], str]] = {
    "yes or no": ({"flag": (True, False, True, False)}, {1, 3}, "flag is False"),
    "all values but one": ({"dim": (0, 1, 2, 0)}, {0, 2, 3}, "dim is not 1"),
    "a sign": ({"dim": (0, -1, 1, -2)}, {0, 2}, "dim is not negative"),
    "the other sign": ({"dim": (0, -1, 1, -2)}, {1, 3}, "dim is negative"),
    "the first option that tells": ({"k": (1, 1, 2, 1), "flag": (True, False, True, True)}, {0, 2, 3}, "flag is True"),
}


@pytest.mark.parametrize(("extra", "right", "says"), OPTIONS.values(), ids=OPTIONS)
def test_an_answer_that_is_right_for_some_options_says_for_which(
    extra: dict[str, Sequence[Any]], right: set[int], says: str
) -> None:
    """Even where the others have a wrong shape."""
    for wrong in (lambda r: r + 1, lambda r: r.sum(0)):
        found = pairs(lambda t, r, wrong=wrong: r if t.setting.index in right else wrong(r), **extra)
        assert passes_where(ANSWER, found, agrees) == ("hard-coded", f"it is right only where {says}")


def test_the_shape_of_the_answer_is_no_reason() -> None:
    """It is another one in every trial, so that it always tells right from wrong."""
    found = pairs(lambda t, r: r + (t.setting.index == 1), shape=[tuple(size.values()) for size in SIZES])
    assert passes_where(ANSWER, found, agrees) is None


@pytest.mark.parametrize("change", [lambda t, r: r, lambda t, r: r + 1, lambda t, r: r + (t.setting.index == 0)])
def test_an_answer_right_everywhere_nowhere_or_for_no_reason_is_not_special(change: Change) -> None:
    assert passes_where(ANSWER, pairs(change), agrees) is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda t, r: r.T, "transposed"),
        (lambda t, r: r.T.reshape(r.shape), "reshape-for-transpose"),
        (lambda t, r: r.sum(0), "extra-batch-sum"),
        (lambda t, r: r.mean(0, keepdims=True), "extra-batch-sum"),
        (lambda t, r: np.broadcast_to(r.sum(0), r.shape), "extra-batch-sum"),
        (lambda t, r: np.broadcast_to(r.mean(), r.shape), "extra-batch-sum"),
        (lambda t, r: np.concatenate([r[:1], 0 * r[1:]]), "partial-batch"),
        (lambda t, r: np.concatenate([r[:-1], 0 * r[-1:]]), "partial-batch"),
        (lambda t, r: r[0], "partial-batch"),
        (lambda t, r: t.out_g.numpy(), "missing-local"),
        (lambda t, r: t.out.numpy(), "forward-value"),
        (lambda t, r: t.inputs["w"].numpy(), "forward-value"),
    ],
)
def test_each_relation_to_the_right_answer_is_a_candidate(change: Change, code: str) -> None:
    found = pairs(change)
    matching = {
        candidate.code
        for candidate in candidates(ANSWER, found[0][0])
        if all(
            candidate.compute(trial).shape == array.shape and np.allclose(candidate.compute(trial), array)
            for trial, array in found
        )
    }
    assert code in matching


def test_right_in_one_batch_of_one_and_wrong_in_another_is_no_matter_of_sizes() -> None:
    """What is wrong there by chance is not told as wrong only there."""
    found = trials()
    again = [found[0], found[2], replace(found[1], setting=replace(found[1].setting, kind="a batch of one"))]

    def wrong_in_the(*places: int) -> list[tuple[Trial, np.ndarray]]:
        return [(t, t.expected["w.g"] + (i in places)) for i, t in enumerate(again)]  # type: ignore[operator]

    assert passes_where(ANSWER, wrong_in_the(1), agrees) is None
    assert passes_where(ANSWER, wrong_in_the(1, 2), agrees) == (
        "shape-special", "it is right except in a batch of one (bs=1, n=6)",
    )  # fmt: skip


def test_a_jacobian_has_its_diagonal_as_a_candidate() -> None:
    jacobian = Answer("w.g", "w", "jacobian")
    trial = trials()[3]
    found = [candidate for candidate in candidates(jacobian, trial) if candidate.code == "diagonal-only"]
    np.testing.assert_allclose(found[0].compute(trial), np.diagonal(trial.expected["w.g"]))  # type: ignore[arg-type]


def test_the_number_of_the_answer_in_the_places_of_its_zeros_is_an_inverted_mask() -> None:
    found = [(replace(t, expected={"w.g": -0.5 * (a > 0)}), -0.5 * (a <= 0)) for t, a in pairs(lambda t, r: r)]
    (mask,) = (c for c in candidates(ANSWER, found[0][0]) if c.code == "inverted-mask")
    assert all(np.array_equal(mask.compute(trial), array) for trial, array in found)


def test_a_factor_that_has_become_a_summand_is_a_wrong_operand() -> None:
    found = [(replace(t, inputs={**t.inputs, "q": 0.5}), a) for t, a in pairs(lambda t, r: r / 0.5 + 0.5)]
    added, _ = (c for c in candidates(ANSWER, found[0][0]) if c.says.startswith("q is"))
    assert (added.code, added.says) == ("wrong-operand", "q is added where it must be multiplied with")
    assert all(np.allclose(added.compute(trial), array) for trial, array in found)
