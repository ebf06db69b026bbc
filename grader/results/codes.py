"""The public codes of mistakes, and what each means in one sentence for a teacher."""

from __future__ import annotations

from collections.abc import Mapping

UNNAMED = "unnamed"
"""Stands for the code of a wrong answer that was recorded without one."""
TWO_ANSWERS = "two-answers"
"""Is the code of an error that the student can fix; so is `not-read`, and all others are failures of the grader."""

STRUCTURE_MEANINGS: Mapping[str, str] = {
    "todo": "Nothing was written for this answer yet.",
    "missing-function": "The file defines no function of this name.",
    "syntax-error": "Python cannot read the file.",
    "error": "The function raised an exception.",
    "timeout": "The function did not finish in time.",
    "memory": "The function created an array that is too large.",
    "crash": "The function ended the whole Python process.",
    "missing-answer": "The gradient was neither stored nor returned.",
    "returned-not-stored": "The gradient was returned; it must be stored in the attribute .g.",
    "wrong-attribute": "The gradient was stored under another name than .g.",
    "wrong-type": "The answer has the wrong type.",
    "wrong-shape": "The answer does not have the right shape.",
    "wrong-dtype": "The gradient does not have the dtype of its variable.",
    "not-finite": "The answer contains infinities or NaNs.",
    "mutated-input": "The function changed one of its arguments.",
    "used-autograd": "The gradient was computed by autograd.",
    "extra-work": "The function computes gradients that were not asked for.",
    "not-repeatable": "The same call gives a different answer the second time.",
    "measured": "The gradient was measured with finite differences; a formula is asked for.",
    TWO_ANSWERS: "Not graded: two different answers were handed in, and nobody can know which counts.",
}
VALUE_MEANINGS: Mapping[str, str] = {
    "imprecise": "The answer was measured or rounded: it is close, but not exact.",
    "missing-upstream": "The upstream gradient is missing: this is how the output changes, not the loss.",
    "missing-local": "The derivative of one operation is missing from the chain.",
    "extra-factor": "There is one factor too many: a derivative was applied twice.",
    "missing-path": "The variable is used several times, but only some of its uses are counted.",
    "missing-batch-sum": "The contributions of the examples are not summed over the batch.",
    "extra-batch-sum": "Summed over the batch, although each example has its own.",
    "partial-batch": "Only some of the examples, rows or uses are counted.",
    "mean-for-sum": "Averaged instead of summed: too small by the number of examples or entries.",
    "sum-for-mean": "The forward pass takes a mean, but the division by the count is missing.",
    "sum-of-products": "Summed before multiplying; it must be multiplied first.",
    "summed-wrong-axis": "Summed over the wrong axis.",
    "transposed": "The transpose of the right answer, or of one of its factors.",
    "reshape-for-transpose": "Reshaped where it should be transposed: right shape, entries in the wrong places.",
    "elementwise-for-matmul": "Multiplied elementwise instead of by a matrix product.",
    "diagonal-only": "Only the diagonal of the Jacobian is there.",
    "broadcast-accident": "Two arrays were broadcast against each other by accident.",
    "wrong-sign": "Right but for its sign.",
    "wrong-factor": "Right but for a constant factor.",
    "wrong-point": "The right derivative, taken at the wrong value.",
    "wrong-operand": "Multiplied by the wrong array.",
    "value-for-gradient": "A value was used in place of its gradient.",
    "forward-value": "A value of the forward pass was given as the answer.",
    "inverse-for-transpose": "A matrix was inverted; it should be transposed.",
    "inverted-mask": "The mask is inverted: the gradient flows where it should be blocked, and vice versa.",
    "overwritten": "One contribution overwrote another; they must be added.",
    "wrong-order": "A step was taken too early, before its inputs were complete.",
    "stale-gradient": "A gradient of an earlier backward pass was not cleared.",
    "follows": "Right, given an earlier answer that is wrong.",
    "shared-array": "Two values share one array, so an in-place change of one changes the other.",
    "hard-coded": "A number or size was typed in that depends on the inputs.",
    "shape-special": "Right for some sizes only.",
    "not-linear": "The answer is not linear in the upstream gradient, as every gradient is.",
    "wrong-local": "One operation's derivative is wrong; the rest of the chain is right.",
    "unknown": "Wrong, but the mistake was not recognised.",
}
QUIZ_MEANINGS: Mapping[str, str] = {
    "not-read": "The answer to a quiz question, or a whole notebook, could not be read.",
    "rate-for-change": "A rate of change was taken for the change itself.",
    "wrong-graph": "Not the graph that was run.",
}
TEST_MEANINGS: Mapping[str, str] = {
    "accepts-wrong": "The test accepts a wrong backward pass.",
    "rejects-right": "The test rejects a right backward pass.",
}
STRUCTURE_CODES, VALUE_CODES = frozenset(STRUCTURE_MEANINGS), frozenset(VALUE_MEANINGS)
CODES = STRUCTURE_CODES | VALUE_CODES | frozenset(QUIZ_MEANINGS) | frozenset(TEST_MEANINGS)
MEANINGS: Mapping[str, str] = {
    **STRUCTURE_MEANINGS,
    **VALUE_MEANINGS,
    **QUIZ_MEANINGS,
    **TEST_MEANINGS,
    UNNAMED: "Wrong; no code was recorded with the score.",
}


def meaning(code: str) -> str:
    """Return the sentence that says what a code means; empty for an unknown code."""
    return MEANINGS.get(code, "")
