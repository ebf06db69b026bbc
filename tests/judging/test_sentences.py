"""What a learner reads of a wrong answer: the sentence fits the mistake, whatever numbers are drawn.

`thorough/test_sentences_of_corpus.py` looks at the sentences of the whole corpus.
"""

from __future__ import annotations

import re

import pytest
from helpers.grading import Grade

SEEDS = (1, 2, 3)
NUMBER = re.compile(r"\b\d+(\.\d+)?\b")
SENTENCES = {  # (exercise, source, answer): the sentence, with # for every number
    "an axis is named only where its size is that of the axis in all trials": (
        "conv1d_grad",
        "def conv1d_grad(inp, w, b, out):\n    inp.g = w.g = b.g = out.g.sum(0)\n",
        "b.g",
        "its shape is (o=#, #); it should be the shape of b, (o=#,)",
    ),
    "finite entries are explained where others are nan": (
        "pow_both_grad",
        "def pow_both_grad(a, b, out):\n    a.g = out.g * b * a ** (b - 1)\n    b.g = out.g * out * b.log()\n",
        "b.g",
        "# of # entries are inf or nan; in the finite entries, in the gradient of b through `a**b`, b is used in place "
        "of a",
    ),
    "an ordinary trial is not named": (
        "sqrt_grad",
        "def sqrt_grad(inp, out):\n    inp.g = out.g.sqrt() / (2 * out)\n",
        "inp.g",
        "# of # entries are inf or nan",
    ),
    "a count of all is a count": (
        "shifted_relu_grad",
        "def shifted_relu_grad(inp, out):\n"
        "    inp.g = out.g * (inp > 0) + (inp <= 0) * out.g.abs() * 0.01 * inp.cos().abs()\n",
        "inp.g",
        "# of # entries that must be # are nonzero; the others are right",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_a_sentence_is_the_same_but_for_numbers(case: str, grade: Grade) -> None:
    exercise, source, name, sentence = SENTENCES[case]
    for seed in SEEDS:
        result = grade(exercise, source, seed=seed)
        (message,) = (answer.message for answer in result.answers if answer.name == name)
        assert NUMBER.sub("#", message) == sentence, f"seed {seed}"
