"""A mistake is named only if its numbers are the learner's in every trial; otherwise only facts are said."""

from __future__ import annotations

import numpy as np
import pytest
from test_relations import ANSWER, Change, pairs, trials

from grader.diagnosis.diagnose import SPECIFIC, Diagnosis, declared, diagnose, matching, ranked
from grader.exercise import Misconception
from grader.reference.trial import Candidate, Trial
from grader.results import VALUE_CODES


def candidate(code: str, change: Change, says: str = "") -> Candidate:
    return Candidate(code, says or code, lambda trial: np.asarray(change(trial, trial.expected["w.g"])))  # type: ignore[arg-type]


def said(change: Change, *candidates: Candidate, averages: bool = False) -> Diagnosis:
    return diagnose(ANSWER, pairs(change), candidates, averages=averages)


def impossible(trial: Trial, right: np.ndarray) -> np.ndarray:
    raise RuntimeError("this cannot be computed here")


def test_the_first_candidate_that_matches_is_told() -> None:
    plus, also = candidate("extra-factor", lambda t, r: r + 1), candidate("wrong-local", lambda t, r: r + 1)
    assert said(lambda t, r: r + 1, plus, also).code == "extra-factor"
    assert said(lambda t, r: r + 1, also, plus).code == "wrong-local"


def test_a_candidate_that_matches_in_some_trials_only_is_not_told() -> None:
    almost = candidate("extra-factor", lambda t, r: r + (1 if t.setting.index < 3 else 2))
    assert said(lambda t, r: r + 1, almost).says == "1 is added to every entry"


def test_a_candidate_that_cannot_be_computed_is_passed_over() -> None:
    assert said(lambda t, r: r**2 + 1, candidate("extra-factor", impossible)).code == "unknown"
    sound = candidate("wrong-local", lambda t, r: r + 1)
    assert said(lambda t, r: r + 1, candidate("extra-factor", impossible), sound).code == "wrong-local"


def test_a_candidate_that_is_right_everywhere_is_never_told() -> None:
    right = candidate("extra-factor", lambda t, r: r)
    assert said(lambda t, r: r * (1 + 3e-5), right).code == "imprecise"


def test_a_candidate_is_told_apart_from_the_right_answer_in_one_trial_at_least() -> None:
    """Right in three trials, and in the fourth exactly what the mistake gives."""
    slip = candidate("extra-factor", lambda t, r: r + (t.setting.index == 1))
    assert said(lambda t, r: r + (t.setting.index == 1), slip).code == "extra-factor"


def test_another_shape_never_matches() -> None:
    wide = candidate("extra-factor", lambda t, r: (r**2 + 1)[None])
    assert said(lambda t, r: r**2 + 1, wide).code == "unknown"


def test_a_mistake_may_have_another_shape_than_the_answer() -> None:
    assert (
        said(lambda t, r: r.sum(1), candidate("summed-wrong-axis", lambda t, r: r.sum(1))).code == "summed-wrong-axis"
    )


def test_rounding_does_not_hide_a_mistake() -> None:
    slip = candidate("extra-factor", lambda t, r: r * r)
    assert said(lambda t, r: (r * r).astype("float32").astype("float64"), slip).code == "extra-factor"


def test_the_hints_of_a_candidate_come_with_it() -> None:
    known = Candidate("wrong-local", "it is one too large", lambda trial: trial.expected["w.g"] + 1, ("Look again.",))  # type: ignore[operator]
    assert said(lambda t, r: r + 1, known) == Diagnosis("wrong-local", "it is one too large", ("Look again.",))


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (lambda t, r: np.full_like(r, 4.5), "hard-coded", "every entry is 4.5, whatever the inputs are"),
        (lambda t, r: np.zeros_like(r), "hard-coded", "every entry is 0"),
        (lambda t, r: np.ones((7, 5)), "hard-coded", "its shape is (7, 5) whatever the sizes are"),
        (
            lambda t, r: r[..., None],
            "wrong-shape",
            "its shape is (bs=7, n=5, 1); it should be the shape of w, (bs=7, n=5)",
        ),
        (lambda t, r: -r, "wrong-sign", "every entry has the wrong sign"),
        (lambda t, r: r / t.setting.sizes["bs"], "mean-for-sum", "and bs = 7 here"),
        (lambda t, r: r * (1 + 1e-3), "imprecise", "off by 1.0e-03 of the largest entry"),
        (
            lambda t, r: r if t.setting.kind == "a square case" else r + 1,
            "shape-special",
            "right only in a square case",
        ),
        (lambda t, r: r / t.setting.sizes["bs"] ** 0.5, "wrong-factor", "with another factor elsewhere"),
        (lambda t, r: r + 1, "wrong-local", "1 is added to every entry"),
        (lambda t, r: r**2 + 1, "unknown", "35 of 35 entries are wrong, by up to "),
        (
            lambda t, r: np.where(np.arange(r.size).reshape(r.shape) == 3, r + 9, r),
            "unknown",
            "1 of 35 entries are wrong",
        ),
    ],
)
def test_without_a_candidate_only_what_the_numbers_show_is_said(change: Change, code: str, says: str) -> None:
    diagnosis = said(change)
    assert diagnosis.code == code
    assert says in diagnosis.says


def test_numbers_without_meaning_are_never_given_one() -> None:
    """Random answers are unknown, whatever candidates there are."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        guess = said(lambda t, r: rng.standard_normal(r.shape), candidate("transposed", lambda t, r: r.T))
        assert guess.code == "unknown"


def test_no_arrays_at_all_still_give_a_diagnosis() -> None:
    """As when a learner's arrays cannot be compared, being complex."""
    assert diagnose(ANSWER, [], []).code in VALUE_CODES


def test_candidates_are_ranked_by_how_specific_they_are() -> None:
    shuffled = [
        candidate(code, lambda t, r: r) for code in ("wrong-local", "transposed", "missing-local", "wrong-sign")
    ]
    assert [c.code for c in ranked(shuffled)] == ["transposed", "wrong-sign", "missing-local", "wrong-local"]
    assert set(SPECIFIC) <= set(VALUE_CODES)
    assert len(set(SPECIFIC)) == len(SPECIFIC)


def test_a_rank_keeps_the_order_among_equals() -> None:
    equals = [candidate("wrong-local", lambda t, r: r, says) for says in ("first", "second", "third")]
    assert [c.says for c in ranked(equals)] == ["first", "second", "third"]


def test_declared_misconceptions_of_other_answers_are_left_out() -> None:
    slips = (Misconception("transposed", "w.g", lambda w: w), Misconception("wrong-sign", "b.g", lambda w: w))
    assert [c.code for c in declared(slips, ANSWER)] == ["transposed"]


def test_a_declared_misconception_is_run_on_the_trials_own_values() -> None:
    slip = Misconception("wrong-local", "w.g", lambda out_g, w, out: out_g * w - out, "a slip", ("Hint.",))
    (found,) = declared((slip,), ANSWER)
    trial = trials()[1]
    np.testing.assert_allclose(found.compute(trial), (trial.out_g * trial.inputs["w"] - trial.out).numpy())  # type: ignore[operator]
    assert (found.says, found.hints) == ("a slip", ("Hint.",))
    assert matching(ANSWER, [(t, found.compute(t)) for t in trials()], [found]) == Diagnosis(
        "wrong-local", "a slip", ("Hint.",)
    )


def test_a_declared_misconception_that_fails_is_passed_over() -> None:
    slip = Misconception("wrong-local", "w.g", lambda w: w @ w @ w @ w[:1, :1])
    assert diagnose(ANSWER, pairs(lambda t, r: r**2 + 1), declared((slip,), ANSWER)).code == "unknown"


def test_a_misconception_without_words_names_its_code() -> None:
    (found,) = declared((Misconception("transposed", "w.g", lambda w: w),), ANSWER)
    assert "transposed" in found.says


def test_what_a_mistake_computes_as_zero_may_be_rounding_in_the_answer() -> None:
    """Both are nothing next to the right answer, but neither is exactly zero."""
    found = pairs(lambda t, r: np.full_like(r, 3e-8) * np.sign(r))
    nothing = candidate("missing-upstream", lambda t, r: 1e-17 * r)
    assert matching(ANSWER, found, [nothing]) is not None
    assert matching(ANSWER, pairs(lambda t, r: 1e-3 * r), [nothing]) is None
