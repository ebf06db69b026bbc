"""Hints by mistake: what to ask a learner first, then, and last, once the mistake is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

STEPS = 3

LADDERS: Mapping[str, tuple[str, ...]] = {
    "missing-upstream": (
        "If the upstream gradient were all zeros, what should your answer be?",
        "You said how the output reacts; the question is how the loss reacts.",
        "The missing factor is already given to you: it came from the next layer.",
    ),
    "wrong-sign": (
        "Nudge one entry up by 0.001: does the loss rise or fall?",
        "Check the order of every difference and quotient on the way.",
    ),
    "missing-local": (
        "Name every operation on the way from the loss to this variable. Did each of them contribute?",
        "Each operation contributes its own derivative exactly once: one of them is not there.",
    ),
    "wrong-factor": (
        "The direction is perfect; only the scale is off. Where would such a factor come from?",
        "Where does that factor appear in the forward pass, and how often?",
    ),
    "extra-factor": (
        "One factor too many: which operation did you differentiate twice?",
        "Each operation contributes its derivative exactly once.",
    ),
    "mean-for-sum": (
        "Does the layer average over the batch, or does the loss?",
        "Whoever averages in the forward pass divides in the backward pass, and nobody else.",
        "The upstream gradient already contains the loss's average.",
    ),
    "sum-for-mean": (
        "If the batch were repeated twice, would this loss change?",
        "A mean is a sum and a division: the division has a derivative too.",
        "How many entries does the mean run over?",
    ),
    "transposed": (
        "Write down the shapes of all the arrays involved.",
        "Which axis disappears, and so must be summed over?",
        "A gradient has its owner's axes in its owner's order.",
    ),
    "reshape-for-transpose": (
        "The shape is right, the numbers are in the wrong places. What moved them?",
        "A reshape is not a transpose: it keeps the order in memory.",
    ),
    "elementwise-for-matmul": (
        "How many outputs does one input touch?",
        "Each of them contributes, and contributions add.",
    ),
    "diagonal-only": (
        "How many outputs does one input touch?",
        "A Jacobian has one entry for every pair of output and input.",
    ),
    "missing-batch-sum": (
        "One axis is too many, or too long: which one, and how long is it in the variable itself?",
        "How many times was each entry used along that axis?",
        "What fans out forward is summed backward.",
    ),
    "extra-batch-sum": (
        "Does every example have its own copy of this variable?",
        "Only what is shared by the examples is summed over them.",
    ),
    "partial-batch": (
        "How many examples used this variable? How many did you count?",
        "Every example in the batch contributes.",
    ),
    "summed-wrong-axis": (
        "Write the axis names beside the numbers of the axes.",
        "Which axis must survive? It is one of the owner's own.",
        "Which axis numbers the examples?",
    ),
    "sum-of-products": (
        "Is the sum of products the product of the sums? Try it with two examples.",
        "Multiply first, example by example; add afterwards.",
    ),
    "wrong-shape": (
        "A gradient has the shape of its owner.",
        "What would `b -= lr * b.g` do with this shape?",
    ),
    "broadcast-accident": (
        "What is the shape of an array (n, 1) minus an array (n,)?",
        "Print the shape after every line: one of them has become larger than its parts.",
    ),
    "wrong-point": (
        "You have the right derivative. At which value is it taken?",
        "Your formula is written for another value than the one that went into this operation.",
    ),
    "wrong-operand": (
        "Who was this variable's partner in the forward pass?",
        "In a product each factor's gradient needs the other factor. Which one did you use?",
    ),
    "value-for-gradient": (
        "A value and its gradient are two different arrays. Which one did you use?",
        "Nothing in the forward value says how the loss reacts to it.",
    ),
    "forward-value": (
        "This array was there before anything was differentiated.",
        "How does the loss move when you nudge one entry? That number belongs here.",
    ),
    "missing-path": (
        "Underline every use of the variable in the forward pass.",
        "It reaches the output on several paths; you followed only some.",
        "The contributions of all paths add.",
    ),
    "overwritten": (
        "What was stored before the second write?",
        "A variable that is used twice gets two contributions, and they must add.",
    ),
    "mutated-input": (
        "Print the arguments before and after your function.",
        "`a = b` copies nothing: both names are the same array.",
        "Which line writes through an old name? Make a new array there.",
    ),
    "hard-coded": (
        "Your answer does not follow one of its inputs. Which argument is never read, or which number is typed in?",
        "Read every size from a tensor, and ask every option what it says.",
    ),
    "shape-special": (
        "It is right for some sizes only. What do your lines assume about the shapes?",
        "Try it by hand with a single example, and with as many examples as columns.",
    ),
    "not-linear": (
        "If every upstream gradient were ten times as large, what should happen to your answer?",
        "Look for something that cuts off, rounds or squares the upstream gradient.",
    ),
    "imprecise": (
        "This looks like a measurement, not a derivation.",
        "Differentiate by hand and write the formula; or keep the full precision of the inputs.",
    ),
    "inverted-mask": (
        "For which inputs does the output move at all?",
        "Where the function is flat, nothing flows back.",
    ),
    "inverse-for-transpose": (
        "Are you undoing the layer, or asking how the loss reacts to it?",
        "Sums over an axis give a transpose, never an inverse.",
    ),
    "wrong-local": (
        "Every other step is right: look up this one operation's derivative.",
        "Check the rule with numbers: nudge the operation's input and watch its output.",
    ),
    "error": (
        "Read the last words of the message: what could Python not do, and in which line?",
        "Print what that line uses, right before it.",
    ),
    "syntax-error": (
        "Python stopped reading at that line: look at it and at the line above it.",
        "Is there a bracket, a quote or a colon that has no partner?",
        "Undo until Python reads the file again, or put the stub back with handgrad reset.",
    ),
    "missing-function": (
        "The function must keep the name and the arguments that the stub gave it.",
        "Is it indented, so that it belongs to something else, or misspelt?",
        "handgrad reset puts the stub back and keeps what you wrote.",
    ),
    "wrong-type": ("What kind of object is the argument? The answer must be of that kind, entry for entry.",),
    "crash": (
        "Which line ends the program, or leaves Python altogether?",
        "Leave out everything but the formula; does it still end?",
        "Exercises need no exit, no ctypes, no process of their own.",
    ),
    "used-autograd": (
        "Here the point is to do what autograd does, by hand.",
        "You may check yourself with autograd below your function, outside it.",
    ),
    "returned-not-stored": ("Where will the next function look for this gradient?",),
    "missing-answer": ("Which attribute does the next function read?",),
    "wrong-attribute": (
        "The name of the attribute is `g`.",
        "torch's own attribute is called `grad`; these exercises use another.",
        "Write it exactly as the stub did.",
    ),
    "wrong-dtype": ("What is the dtype of the variable that this gradient belongs to?",),
    "not-finite": ("Where could a zero be divided by, or a logarithm be taken of it?",),
    "not-repeatable": ("What does your function remember from one call to the next?",),
    "memory": (
        "Multiply the sizes of the axes: how many numbers is the largest array you make?",
        "Can the sum be taken before that array is whole?",
        "A matrix product sums as it goes and never holds the products.",
    ),
    "timeout": (
        "Which loop does not come to an end?",
        "Print the loop's counter: does it change?",
        "A loop over the rows of a tensor ends by itself; a while loop needs a reason to.",
    ),
    "extra-work": ("Which gradients were asked for?",),
}


OF_ANY_FUNCTION = frozenset(
    {
        "crash", "error", "hard-coded", "memory", "missing-function", "mutated-input", "not-finite", "not-repeatable",
        "syntax-error", "timeout", "used-autograd", "wrong-dtype", "wrong-type",
    }
)  # fmt: skip
"""What any function can do wrong; the other ladders ask about a loss, and about the derivatives on the way from it."""


def hints_for(code: str, own: Sequence[str], answers: Sequence[str], *, derives: bool = True) -> tuple[str, ...]:
    """Three hints: the mistake's own or its ladder's first, filled up with the last of the answer's.

    Args:
        own: hints that a matched misconception brings.
        answers: the three hints of the answer.
        derives: the answer is derived from a forward pass, so that every ladder has something to say about it.
    """
    fitting = LADDERS.get(code, ()) if derives or code in OF_ANY_FUNCTION else ()
    ladder = (*own, *(hint for hint in fitting if hint not in own))[:STEPS]
    return (*ladder, *answers[len(ladder) : STEPS])
