"""The public codes of mistakes, and what each means in one sentence for a teacher."""

from __future__ import annotations

from collections.abc import Mapping

UNNAMED = "unnamed"
"""Stands for the code of a wrong answer that was recorded without one."""

STRUCTURE_MEANINGS: Mapping[str, str] = {
    "todo": "Nothing was written for this answer yet.",
    "missing-function": "The file has no function of that name.",
    "syntax-error": "Python cannot read the file.",
    "error": "The function ended in an exception.",
    "timeout": "The function did not come to an end in time.",
    "memory": "The function made an array that is too large.",
    "crash": "The function ended the whole Python process.",
    "missing-answer": "The gradient was neither stored nor returned.",
    "returned-not-stored": "The gradient was returned, but it belongs into the attribute .g.",
    "wrong-attribute": "The gradient was stored under another name than .g.",
    "wrong-type": "The answer is not the kind of object that was asked for.",
    "wrong-shape": "The gradient does not have the shape of the variable it belongs to.",
    "wrong-dtype": "The gradient does not have the dtype of the variable it belongs to.",
    "not-finite": "There are infinities or NaNs in the answer.",
    "mutated-input": "The function changed one of its arguments.",
    "used-autograd": "The function let torch differentiate.",
    "extra-work": "The function works out gradients that were not asked for.",
    "not-repeatable": "The same call gives another answer the second time.",
    "measured": "The gradient was measured, one nudge after the other, where a formula is asked for.",
}
VALUE_MEANINGS: Mapping[str, str] = {
    "imprecise": "The answer is a measurement or was rounded: close, but not the derivative.",
    "missing-upstream": "The upstream gradient is left out: how the output reacts, not how the loss does.",
    "missing-local": "One operation's own derivative is left out of the chain.",
    "extra-factor": "One factor too many: a derivative was applied twice.",
    "missing-path": "The variable is used several times, and only some of the uses were followed.",
    "missing-batch-sum": "Each example's contribution is still there: they were not summed over the batch.",
    "extra-batch-sum": "Summed over the batch, although each example has its own.",
    "partial-batch": "Only some of the examples in the batch were counted.",
    "mean-for-sum": "Averaged where it should be summed: too small by the number of examples or entries.",
    "sum-for-mean": "Summed where the forward pass averages: the division by the count is missing.",
    "sum-of-products": "Summed first and multiplied afterwards; it must be the other way round.",
    "summed-wrong-axis": "Summed over the wrong axis.",
    "transposed": "The transpose of the right answer, or of one of its factors.",
    "reshape-for-transpose": "Reshaped where it should be transposed: right shape, entries in the wrong places.",
    "elementwise-for-matmul": "Multiplied entry by entry where a matrix product belongs.",
    "diagonal-only": "Only the diagonal of the Jacobian is there.",
    "broadcast-accident": "Two shapes broadcast against each other that should not have.",
    "wrong-sign": "Right but for its sign.",
    "wrong-factor": "Right but for a constant factor.",
    "wrong-point": "The right derivative, taken at the wrong value.",
    "wrong-operand": "Multiplied by the wrong partner of the forward product.",
    "value-for-gradient": "A value was used where its gradient belongs.",
    "forward-value": "A value of the forward pass was given as the answer.",
    "inverse-for-transpose": "A matrix was inverted where it should be transposed.",
    "inverted-mask": "The gradient flows where it should be blocked, and the other way round.",
    "overwritten": "The second contribution replaced the first; they must add.",
    "wrong-order": "A step was taken before everything that it waits for was there.",
    "stale-gradient": "A gradient of an earlier backward pass was used where it should have been cleared.",
    "follows": "It follows rightly from an earlier answer that is wrong.",
    "shared-array": "Two values share one array: what is done to one in place is done to the other as well.",
    "hard-coded": "A number or a size was typed in that should follow the inputs.",
    "shape-special": "Right for some sizes only.",
    "not-linear": "The answer is not linear in the upstream gradient, as every gradient is.",
    "wrong-local": "One operation's derivative is wrong; the rest of the chain is right.",
    "unknown": "Wrong, in no way that could be recognised.",
}
QUIZ_MEANINGS: Mapping[str, str] = {
    "not-read": "The answer to a quiz question could not be read.",
    "rate-for-change": "A rate of change was taken for the change itself.",
    "wrong-graph": "Another graph than the one that was run.",
}
TEST_MEANINGS: Mapping[str, str] = {
    "accepts-wrong": "A test that lets a wrong backward pass through.",
    "rejects-right": "A test that rejects a right backward pass.",
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
