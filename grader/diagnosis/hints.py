"""Hints: questions that lead a learner to a mistake, by the public code of the mistake or by the case it arose in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

STEPS = 3  # hints for an answer, shown one at a time

HINTS: Mapping[str, Sequence[str]] = {
    "missing-upstream": (
        "If the upstream gradient were all zeros, what should your answer be?",
        "You said how the output reacts; the question is how the loss reacts.",
        "The missing factor is already given to you: it is the upstream gradient.",
    ),
    "wrong-sign": (
        "Nudge one entry up by 0.001: does the loss rise or fall?",
        "Check the order of every difference and quotient along the path.",
    ),
    "missing-local": (
        "List the operations between the loss and this variable. Is the derivative of each of them in your code?",
        "Each operation contributes its derivative exactly once: one of them is missing.",
    ),
    "wrong-factor": (
        "A number is missing, or there is one too many. Where could it come from?",
        "Where does that factor appear in the forward pass, and how many times?",
    ),
    "extra-factor": (
        "There is one factor too many: which operation did you differentiate twice?",
        "Each operation contributes its derivative exactly once.",
    ),
    "mean-for-sum": (
        "Is there a mean over this axis in the forward pass, or a sum?",
        "Where does the forward pass take a mean? Only there is the gradient divided by the number of entries.",
        "If the loss takes the mean, the upstream gradient already contains the division.",
    ),
    "sum-for-mean": (
        "Is there a sum of these numbers in the forward pass, or an average?",
        "A mean is a sum and a division: the division has a derivative too.",
        "How many entries does the mean run over?",
    ),
    "transposed": (
        "Write the shape of every array next to its name. Which axes must match?",
        "Check one entry by hand, with a matrix of two rows and two columns that is not symmetric.",
        "A gradient has the axes of its variable, in the same order.",
    ),
    "reshape-for-transpose": (
        "The shape is right, but the numbers are in the wrong places. What moved them?",
        "A reshape is not a transpose: it keeps the entries in memory order.",
    ),
    "elementwise-for-matmul": (
        "How many outputs does one input entry affect?",
        "Each output that the entry affects contributes, and the contributions add up.",
    ),
    "diagonal-only": (
        "Which pairs of an output and an input entry does your answer leave out?",
        "A Jacobian has one entry for every pair of output and input.",
    ),
    "missing-batch-sum": (
        "Compare the axes of your answer with those of the variable: which one is left over, or too long?",
        "How many times was each entry used along that axis?",
        "What is copied in the forward pass is summed in the backward pass.",
    ),
    "extra-batch-sum": (
        "Does every example have its own copy of this variable?",
        "Sum over an axis only if its entries share the variable.",
    ),
    "partial-batch": (
        "How many times is this variable used in the forward pass? How many of these uses contribute in your code?",
        "Every use contributes to the gradient.",
    ),
    "summed-wrong-axis": (
        "Write the name of each axis next to its number.",
        "Which axes does the variable have? These must remain.",
        "Which axis does the forward pass sum over, or copy along?",
    ),
    "sum-of-products": (
        "Is the sum of products the product of the sums? Try it with two terms.",
        "Multiply first, term by term; then add.",
    ),
    "wrong-shape": (
        "A gradient has the shape of its variable.",
        "What would `b -= lr * b.g` do with this shape?",
    ),
    "broadcast-accident": (
        "An array of shape (n, 1) minus one of shape (n,): what shape is the result?",
        "Print the shape after every line: one array is larger than the arrays it was made from.",
    ),
    "wrong-point": (
        "At which value must this derivative be taken? Which one did you use?",
        "Write down what the forward pass feeds into this operation, and compare it with your code.",
    ),
    "wrong-operand": (
        "Which array must be used? Write down what the forward pass does with this variable.",
        "Write down the name and shape of every array, and follow one entry.",
    ),
    "value-for-gradient": (
        "A value and its gradient are two different arrays. Which one did you use?",
        "A value does not say how the loss reacts to it; its gradient does.",
    ),
    "forward-value": (
        "This array comes from the forward pass; nothing in it was differentiated.",
        "How does the loss move when you nudge one entry? That number belongs here.",
    ),
    "missing-path": (
        "Underline every use of the variable in the forward pass.",
        "The variable reaches the output along several paths; your code follows only some of them.",
        "The contributions of all paths add up.",
    ),
    "overwritten": (
        "What was stored there before the last assignment?",
        "A variable that is used twice gets two contributions, which must be added.",
    ),
    "mutated-input": (
        "Print the arguments before and after your function.",
        "`a = b` makes no copy: both names refer to the same array.",
        "Which line writes into an existing array? Create a new one there.",
    ),
    "hard-coded": (
        (
            "Your answer does not change with one of the inputs. Is that input used? Is a number typed in where the "
            "input belongs?"
        ),
        "Read every size from a tensor, and use every option of the function.",
    ),
    "shape-special": (
        "Your answer is right for some sizes only. What does your code assume about the shapes?",
        "Try your formula by hand with a single example, and with as many examples as columns.",
    ),
    "not-linear": (
        "If every upstream gradient were ten times as large, what should happen to your answer?",
        "Look for something that clips, rounds or squares the upstream gradient.",
    ),
    "imprecise": (
        "This looks like a finite difference, not a formula.",
        "Derive the formula by hand; or keep the full precision of the inputs.",
    ),
    "inverted-mask": (
        "For which inputs does the output change at all?",
        "Where the function is flat, its gradient is 0.",
    ),
    "inverse-for-transpose": (
        "Are you inverting the layer, or asking how the loss reacts to its input?",
        "The backward pass of a matrix product uses a transpose, never an inverse.",
    ),
    "wrong-local": (
        "The rest of the chain is right: what is the derivative of this operation?",
        "Check it with numbers: nudge the input of the operation and watch its output.",
    ),
    "error": (
        "Read the end of the message: what could Python not do, and in which line?",
        "Print the values that this line uses, just before it.",
    ),
    "syntax-error": (
        "Python stopped reading at this line: look at it and at the line above it.",
        "Is a bracket or a quote not closed, or a colon missing?",
        "Undo until Python reads the file again, or put the stub back with handgrad reset.",
    ),
    "missing-function": (
        "The function must keep the name and the arguments that the stub gave it.",
        "Is its name misspelt, or is the function indented so that it is part of something else?",
        "handgrad reset puts the stub back and keeps what you wrote.",
    ),
    "wrong-type": ("Which type is asked for, and which does your code return? `print(type(...))` shows it.",),
    "crash": (
        "Which line ends the program, or exits Python?",
        "Leave out everything but the formula; does the program still end?",
        "Exercises need no exit, no ctypes and no processes.",
    ),
    "used-autograd": (
        "Here the point is to do what autograd does, by hand.",
        "You may check your answer with autograd, but outside your function.",
    ),
    "returned-not-stored": ("Where will the next function look for this gradient?",),
    "missing-answer": ("Which attribute does the next function read?",),
    "wrong-attribute": (
        "The name of the attribute is `g`.",
        "torch's own attribute is called `grad`; these exercises use another.",
        "Write it exactly as the stub did.",
    ),
    "wrong-dtype": ("What is the dtype of the variable that this gradient belongs to?",),
    "not-finite": (
        "Where could you divide by zero, or take the logarithm, the root or a power of 0 or of a negative number?",
    ),
    "not-repeatable": ("What does your function keep from one call to the next?",),
    "memory": (
        "Multiply the sizes of the axes: how many numbers is the largest array you make?",
        "Can you sum before the whole array exists?",
        "A matrix product sums as it goes and never holds the products.",
    ),
    "timeout": (
        "Which loop does not end?",
        "Print the loop's counter: does it change?",
        "A `for` loop over the rows of a tensor ends by itself; a `while` loop needs a condition that becomes false.",
    ),
    "extra-work": ("Which gradients were asked for?",),
    "measured": (
        "How many times does your function run the forward pass to find one gradient?",
        "A formula takes about as much work as the forward pass itself, however many entries there are.",
        "Write down how one entry moves the loss, and you have the formula for all of them.",
    ),
}
"""By public code: what to ask first, then, and last. Those of an operator, where it has any, come before them."""

OF_ANY_FUNCTION = frozenset(
    {
        "crash", "error", "hard-coded", "memory", "missing-function", "mutated-input", "not-finite", "not-repeatable",
        "syntax-error", "timeout", "used-autograd", "wrong-dtype", "wrong-type",
    }
)  # fmt: skip
"""Codes whose hints fit any function; the hints of the others ask about a loss and its derivatives."""

# Hints of several operators.
OTHER_FACTOR = (
    "What is this variable multiplied by in the forward pass?",
    "The gradient of each factor of a product needs the other factor. Which one did you use?",
)
USES_OF_AN_ENTRY = ("How many times does the forward pass use each entry, and how many times does your sum?",)
FOLLOW_ONE_ENTRY = (
    "The numbers are right but in the wrong places. Follow one entry from the input to the output, and back.",
)
EVERY_ITERATION = (
    "How many iterations of the loop use this variable? Through which of them did you propagate the gradient?",
    "Every iteration adds its own contribution, and passes back the gradient from the later iterations.",
)
WHICH_ITERATION = (
    "Write out two iterations of the loop, and number every value.",
    "Which iteration computed the value that this iteration uses?",
)

# Hints for a case in which a code was found before any number was compared; they come before those of the code.
NO_GRADIENT_YET = (
    "`.g` does not exist until something is stored in it: store the first gradient with `=`.",
    "`+=` only adds to a gradient that is already there.",
)
TRUTH_OF_ARRAY = (
    "An array has more than one value, so an `if` cannot decide for all of them: use a mask or `torch.where`.",
)
INDEX_OUT_OF_BOUNDS = (
    "How many entries does this axis have, and which index is the largest? Indices begin at 0.",
    "Print the index and the shape of the array, just before this line.",
)
SHAPES_DO_NOT_FIT = (
    "Write the two shapes side by side: which axes would need to have the same size?",
    (
        "In a matrix product, the summed axis is the last one of the left factor and the first one of the right. In "
        "elementwise operations, axes are matched from the last one: where must an axis be added, or kept?"
    ),
)
RECURSION_TOO_DEEP = (
    "How deep are the nested calls at the end of a chain of two thousand operations?",
    "What does each call wait for? A list can hold it, and a loop can process that list.",
    "Keep the nodes that are still to be visited in a list: take one from its end, and append others.",
)
ZERO_EVERYWHERE = (
    "Which line stores numbers in the answer? Is it reached, and are the numbers 0 there already?",
    "A difference is 0 if both values come from one array: `b = a` and `a.reshape(-1)` make no copy, `a.clone()` does.",
    "Print both values just before the subtraction, or both factors just before the product.",
)
MASKED_ROW = ("Is there a row in which every entry is masked? What does the softmax of that row divide by?",)
UNKNOWN_NAME = ("Is the name spelt as in its definition? Names from a module must be imported.",)
NOTHING_RETURNED = ("What does a function return that ends without `return`?",)
NONE_AMONG_SEVERAL = ("What is the gradient of a value before anything is added to it? And if nothing is ever added?",)
CHANGED_BY_ROUNDING = (
    "Does adding h and subtracting it again restore the value exactly? Save the value and put it back.",
)
KEPT_BETWEEN_CALLS = (
    "What does your code keep from one call to the next, in a global variable or in an attribute of the function?",
)
DRAWN_AT_RANDOM = ("What is drawn at random in your test, and what makes it draw the same numbers again?",)
BY_TYPE: Mapping[str, tuple[str, ...]] = {
    "tuple": ("Is there a comma at the end of the line, or between two values? A comma makes a tuple.",),
    "str": ("Return the number itself, without quotes or formatting.",),
    "list": ("Which function turns a list of numbers into an array?",),
    "function that was not called": ("Which pair of parentheses calls the function?",),
}
"""By the type of what is returned in place of an array or a number, as a message calls it."""
FIX_THE_CAUSE = ("Fix the other answer first, then look again.",)
"""For an answer whose mistake is that of another answer."""


def hints_for(code: str, own: Sequence[str], answers: Sequence[str], *, derives: bool = True) -> tuple[str, ...]:
    """Return three hints: those of the mistake, else of its code, filled up with the last ones of the answer.

    Args:
        code: the public code of the mistake.
        own: the hints of the mistake; may be empty.
        answers: the three hints that the exercise declares for the answer.
        derives: whether the answer is derived from a forward pass, which the hints of most codes speak of.
    """
    fitting = HINTS.get(code, ()) if derives or code in OF_ANY_FUNCTION else ()
    ladder = (*own, *(hint for hint in fitting if hint not in own))[:STEPS]
    return (*ladder, *answers[len(ladder) : STEPS])
