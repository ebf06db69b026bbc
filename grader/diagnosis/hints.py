"""Hints: questions that lead a learner to a mistake, by the public code of the mistake or by the case it arose in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.results.codes import VALUE_CODES

STEPS = 3  # hints for an answer, shown one at a time

COMPUTE_ONE_ENTRY = (
    "Compute one entry by hand, one operation at a time, and compare each number with that in your code."
)
HINTS: Mapping[str, Sequence[str]] = {
    "missing-upstream": (
        "If the upstream gradient were all zeros, what should your answer be?",
        "The gradient is how the loss reacts to the output, times how the output reacts. Which of the two is missing?",
        "The missing factor is the gradient of what the forward pass computes here: it is given, or computed earlier.",
    ),
    "wrong-sign": (
        "Nudge one entry up by 0.001: does the loss rise or fall?",
        "Where does the derivative have a minus, and where does your code have one?",
        "Write out the derivative term by term: which terms are added, and which are subtracted?",
    ),
    "missing-local": (
        "List the operations between the loss and this variable. Is the derivative of each of them in your code?",
        "Which of these derivatives, or which part of one, is missing? Where in your code does it belong?",
        COMPUTE_ONE_ENTRY,
    ),
    "wrong-factor": (
        "Which operation of the forward pass has this factor in its derivative?",
        "Write down the derivative of this operation on its own, and compare it with your code.",
        COMPUTE_ONE_ENTRY,
    ),
    "extra-factor": (
        "Write down each factor in your formula. Which operation of the forward pass does it come from?",
        "Does one of these factors occur too often, or belong to another operation?",
        COMPUTE_ONE_ENTRY,
    ),
    "mean-for-sum": (
        "Does the forward pass take a mean here at all?",
        "Only where the forward pass divides by a number of entries does the backward pass divide by it, too.",
        "Does the effect of one entry shrink when there are more entries beside it?",
    ),
    "sum-for-mean": (
        "Does the forward pass take a sum here, or a mean?",
        "A mean is a sum and a division. What does the division do to the gradient?",
        "How many entries does the mean run over? Does your code divide by this number?",
    ),
    "transposed": (
        "Write out one entry of the sum. Shapes alone cannot tell a square matrix from its transpose.",
        "Check one entry by hand, with a matrix of two rows and two columns that is not symmetric.",
        "Which entries of the matrix does one entry of the variable meet in the forward pass: a row, or a column?",
    ),
    "reshape-for-transpose": (
        "The shape is right, but the numbers are in the wrong places. What moved them?",
        "A reshape is not a transpose: it keeps the entries in memory order.",
        "Number the entries 0, 1, 2, ... and print them after every line. Where does each of them end up?",
    ),
    "elementwise-for-matmul": (
        "How many outputs does one input entry affect?",
        "Each output that the entry affects contributes, and the contributions add up.",
        "Write one entry of the matrix product as a sum. How many products does it have, and how many has your code?",
    ),
    "diagonal-only": (
        "Which pairs of an output and an input entry does your answer leave out?",
        "A Jacobian has one entry for every pair of output and input.",
        "Nudge one input entry. Which outputs change, and is each of these changes in your answer?",
    ),
    "missing-batch-sum": (
        "Compare the axes of your answer with those of the variable: which one is left over, or too long?",
        "How many times was each entry used along that axis?",
        "What is copied in the forward pass is summed in the backward pass.",
    ),
    "extra-batch-sum": (
        "Which axes does the variable have? Does each of its entries need a gradient of its own?",
        "Sum over an axis only if its entries share the variable.",
        "Which line of your code sums over this axis, or averages over it?",
    ),
    "partial-batch": (
        "Which entries or terms does the forward pass use here? Which of these does your code leave out?",
        "Every use contributes to the gradient.",
        "Print what your code adds up or copies in a small case. Where does it begin, and where does it end?",
    ),
    "summed-wrong-axis": (
        "Write the name of each axis next to its number.",
        "Along which axis does the forward pass work, and which axis does your code name?",
        "Print the shape after every line: does each sum, mean or maximum remove the axis that you intend?",
    ),
    "sum-of-products": (
        "Is the sum of products the product of the sums? Try it with two terms.",
        "Multiply first, term by term; then add.",
        "In which line of your code does a sum come before the product?",
    ),
    "wrong-shape": (
        "What does each axis of the right shape count, and what does each axis of yours?",
        "Is there an axis too many, is one missing, or does one have the wrong size?",
        "Print the shape after every line: from which line on is it not the one that you expect?",
    ),
    "broadcast-accident": (
        "An array of shape (n, 1) minus one of shape (n,): what shape is the result?",
        "Write the two shapes below each other, aligned at the last axis. Which axes are matched?",
        "Where must an axis of size 1 be inserted or kept, so that the right axes are matched?",
    ),
    "wrong-point": (
        "At which value must this derivative be taken? Which one did you use?",
        "Write down what the forward pass feeds into this operation, and compare it with your code.",
        "Print this value in your code, and the same value of the forward pass, for one small input.",
    ),
    "wrong-operand": (
        "Follow one entry through the forward pass. What is it multiplied by, and where does it end up?",
        "Which arrays, and which of their entries, does your code combine here? Compare them with the forward pass.",
        COMPUTE_ONE_ENTRY,
    ),
    "value-for-gradient": (
        "A value and its gradient are two different arrays. Which one did you use?",
        "A value does not say how the loss reacts to it; its gradient does.",
        "In which line does your code use the value where the gradient belongs?",
    ),
    "forward-value": (
        "This array comes from the forward pass; nothing in it was differentiated.",
        "Nudge one entry. How far does the result move per unit of the nudge? That rate belongs here.",
        "What is the derivative of each operation of the forward pass? Which line of your code contains it?",
    ),
    "missing-path": (
        "Draw the forward pass as a graph. Along which paths does this variable reach the output?",
        "Which of these paths does your code leave out, or lose on the way?",
        "The contributions of all paths add up.",
    ),
    "overwritten": (
        "What did this gradient hold before the last assignment to it?",
        "What is used twice gets two contributions, which must be added.",
        "Which line writes to a place that already holds a contribution?",
    ),
    "shared-array": (
        "After `a = b`, where both are arrays: what does `a += 1` do to `b`?",
        "Which line writes into an array that is still needed elsewhere?",
        "Make a new array there: `a = a + b` in place of `a += b`.",
    ),
    "stale-gradient": (
        "What does this gradient contain at the beginning of each loop, and of each iteration?",
        "Which of these contributions have been passed on already?",
        "Where must it start from zeros again?",
    ),
    "wrong-order": (
        "In which order does the forward pass compute its values? The backward pass takes the reverse order.",
        "Which contributions must have been added before a gradient is used or passed on?",
        "For each line of your backward pass: which gradients does it use, and are they complete at that point?",
    ),
    "mutated-input": (
        "Print what the message names before and after your function.",
        "`x /= 2` changes x itself; `x = x / 2` makes a new object. After `a = b`, both names refer to one object.",
        (
            "Which line changes an object that your function was given? Look for `+=` and the like, for assignments to "
            "entries, and for methods such as `pop` or those whose names end in `_`."
        ),
    ),
    "hard-coded": (
        "Which inputs, sizes and options does the right answer depend on? Does your code use each of them?",
        "Is a number typed in, or a size assumed, where your code should read it from an argument?",
        "Go through your code by hand with other arguments. Which line should give another result, and does not?",
    ),
    "shape-special": (
        "Your answer is right for some sizes only. What does your code assume about the shapes?",
        "Try your formula by hand where an axis has size 1, and where two axes have the same size.",
        "Print the shape after every line, once where the answer is right and once where it is wrong.",
    ),
    "not-linear": (
        "If every upstream gradient changed its sign, or were ten times as large, what should happen to your answer?",
        "Where does your code do more with the upstream gradient than multiply and add?",
        "Write the answer as the upstream gradient times a derivative. What may this derivative depend on?",
    ),
    "imprecise": (
        "Does your code take a small step, round a number, or add a small one?",
        "Derive the formula by hand; keep the full precision of the inputs.",
        "Which constants are typed in, and with how many digits?",
    ),
    "inverted-mask": (
        "For which inputs does the output change, and for which does it change less, or not at all?",
        "Where must the gradient be 0, or small? Where is that the case in your answer?",
        "Take one entry that should get a gradient and one that should not. Which of them does your code select?",
    ),
    "inverse-for-transpose": (
        "Are you inverting the layer, or asking how the loss reacts to its input?",
        "The backward pass of a matrix product uses a transpose, never an inverse.",
        "Write one entry of the output as a sum, and differentiate it: does anything have to be divided?",
    ),
    "wrong-local": (
        "What is the derivative of this operation? Write it down without looking at your code.",
        "Check it with numbers: nudge the input of the operation and watch its output.",
        COMPUTE_ONE_ENTRY,
    ),
    "rejects-right": (
        "Call your test with this backward pass. Which assertion fails, and on which numbers?",
        "Two right answers may differ in the last digit. Does each comparison in your test allow for that?",
        "Does your test demand anything that the docstring does not promise?",
    ),
    "error": (
        "Read the end of the message: what could Python not do, and in which line?",
        "Print the values that this line uses, just before it.",
        "Split the line, so that each line has one operation. Which of them fails?",
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
    "wrong-type": (
        "Which type is asked for, and which does your code return? Print its type, and for a list also the type of an"
        " item.",
        "What is asked for: a number or an array, one value or several? Compare it with what your code returns.",
        "In which line does the value get its type? Print the type after every line.",
    ),
    "crash": (
        "Which line ends the program, or exits Python?",
        "Leave out everything but the formula; does the program still end?",
        "Exercises need no exit, no ctypes and no processes.",
    ),
    "used-autograd": (
        "Here the point is to compute the answer without autograd. Which call in your code uses it?",
        "You may check your answer with autograd, but outside your function.",
        "What must your code compute itself, in place of this call?",
    ),
    "returned-not-stored": (
        "Where will the next function look for this gradient?",
        "Compare the last line of your function with the docstring: what is stored, and in which attribute?",
        "An attribute is stored with `=`: the variable and `.g` on the left, the gradient on the right.",
    ),
    "missing-answer": (
        "Which attribute does the next function read?",
        "Is the line that stores it there, and is it reached? Print something just before it.",
        "Is the gradient stored on the argument itself, or on a copy of it?",
    ),
    "wrong-attribute": (
        "The name of the attribute is `g`.",
        "torch's own attribute is called `grad`; these exercises use another.",
        "Write it exactly as the stub did.",
    ),
    "wrong-dtype": (
        "What is the dtype of the variable that this gradient belongs to?",
        "Print the dtype after every line. Where does it change?",
        "Which call, constant or conversion in that line changes it?",
    ),
    "not-finite": (
        "Where could you divide by zero, or take the logarithm or a root of a number that is 0 or negative?",
        "Print the intermediate values of a call whose result has inf or nan. Which is the first that is not finite?",
        "Can you write that line so that it needs no such division, and no exponential of a large number?",
    ),
    "not-repeatable": (
        "What does your function keep from one call to the next, or draw at random?",
        "Which line gives something else in the second call, or is not reached there?",
        "Compute the answer from the arguments of this call alone.",
    ),
    "memory": (
        "Multiply the sizes of the axes: how many numbers does the largest array that you create hold?",
        "How many of these numbers does the answer need? Can you sum before the whole array exists?",
        "A matrix product sums as it goes and never holds the products.",
    ),
    "timeout": (
        "Which loop does not end?",
        "Print the loop's counter: does it change?",
        "A `for` loop over the rows of a tensor ends by itself; a `while` loop needs a condition that becomes false.",
    ),
    "extra-work": (
        "Which gradients are asked for in this call?",
        "Which line computes or stores this gradient, and under which condition is it reached?",
        "Where a gradient is not asked for, nothing is stored: neither the gradient nor zeros.",
    ),
    "measured": (
        "How many times does your function run the forward pass to find one gradient?",
        "A formula takes about as much work as the forward pass itself, however many entries there are.",
        "Write down how one entry moves the loss, and you have the formula for all of them.",
    ),
}
"""By public code: what to ask first, then, and last. Those of an operator, where it has any, come before them."""

OF_ANY_FUNCTION = frozenset(
    {
        "crash", "error", "extra-work", "hard-coded", "memory", "missing-function", "mutated-input", "not-finite",
        "not-repeatable", "rejects-right", "syntax-error", "timeout", "used-autograd", "wrong-dtype", "wrong-type",
    }
)  # fmt: skip
"""Codes whose hints fit any function; the hints of the others ask about a loss and its derivatives."""

OF_TESTS = frozenset({"accepts-wrong"})
"""Codes of a learner's test whose hints are those of the answer: what a test has to try."""

OF_FORMULA = frozenset({"extra-factor", "missing-local", "wrong-local"})
"""Codes of a mistake in a formula, which the last hint that an exercise declares for its only answer is about."""


FIRST_WRONG_NUMBER = (
    "Work out a small case by hand, and print every intermediate value. Which is the first wrong one?",
    "Which line computes this value, and which variables does it use?",
)
"""Hints on a mistake in a function that derives nothing, behind those of the mistake."""

RESULT_OF_CHANGE = "Change one argument a little. Does the result change as it should?"
OF_RESULT: Mapping[str, Sequence[str]] = {
    "broadcast-accident": HINTS["broadcast-accident"],
    "forward-value": ("What is asked for: a value, or the rate at which it changes? Which of the two do you return?",),
    "mean-for-sum": ("By which factor is your result wrong, in a small case and in one with other sizes?",),
    "missing-local": ("Which operations lead from the arguments to the result? Is each of them in your code?",),
    "partial-batch": ("Which entries does no line of your code compute? Where does each of your loops begin and end?",),
    "reshape-for-transpose": HINTS["reshape-for-transpose"],
    "shape-special": HINTS["shape-special"],
    "sum-for-mean": ("By which factor is your result wrong, in a small case and in one with other sizes?",),
    "transposed": ("Take two rows and three columns. Where must the entry of row 0 and column 1 be, and where is it?",),
    "wrong-factor": ("By which factor is your result wrong? Which line brings it in, or leaves it out?",),
    "wrong-shape": (
        "Which shape does the docstring ask for? Print the shape of what you return.",
        "Which entries or axes are too many, are missing, or are in another order?",
        "Print the shape after every line: from which line on is it not the one that you expect?",
    ),
    "wrong-sign": ("What gives the result its sign: which subtraction, in which order?",),
}
"""By public code: what to ask about a wrong result of a function that derives nothing, if the mistake has no hints."""

KNOWN = (VALUE_CODES | OF_RESULT.keys()) - {"imprecise", "unknown"}
"""Codes that say why a result is wrong; where nobody knows why, the hints of the answer may help."""

# Hints of several operators and facts.
STORED_AND_NEW = (
    "Go through a call of your function before which a gradient is stored. What is stored after each line?",
    "Go through a call before which none is stored. What is stored after each line?",
    "Call it twice with the same inputs. How large must the stored gradient be then, in comparison with one call?",
)
SUM_OR_MEAN = (
    "Does the forward pass take a sum here, or a mean?",
    "Print this value in your code, and the same value of the forward pass. By which factor do the two differ?",
    "Which derivatives use this value? They are right only if the value is.",
)
OTHER_FACTOR = (
    "What is this value multiplied by, or divided by, in the forward pass?",
    "The gradient of a factor needs the other factor, and the gradient of a numerator needs the"
    " denominator. Which array did you use?",
)
WHICH_POSITION = (
    "At which index of the output is the first entry of each input, and which index does your code use?",
    "Number the entries 0, 1, 2, ... and follow them through the forward pass. Where does each of them end up?",
    "Print the first and the last entry that your code takes or writes, and compare them with the forward pass.",
)
NORMALISED_TOGETHER = (
    "Which entries are normalized together in the forward pass, and which in your code?",
    "How many groups of entries are normalized, each on its own?"
    " Print the shape of each mean, or sum, that your code takes.",
    "Along which axes must nothing be summed or averaged? Does any line of your code sum along one of them?",
)
WHICH_CONSTANT = (
    "Which numbers does the forward pass compute that depend on no input? Compute the first few of them by hand.",
    "Print these numbers in your code, and compare them one by one. Where do they begin, and in which steps?",
)
WHICH_MASKED = (
    "Print the mask of a small case. Which entries does it select, and which must it select?",
    "What makes the mask in the forward pass, and what in your code? Does True mark what is kept, or what is not?",
    "Take one entry that the mask must select and one that it must not. What does your code do with each of them?",
)
WHICH_SELECTED = (
    "On which entries of the input does the output depend? Nudge one that was not selected: does the output move?",
    "Which gradient must a selected entry get, and which must all others get?",
    "Print your gradient beside the input. Which entries should be 0 and are not? Which are 0 and should not be?",
)
WHICH_ORDER = (
    "In which order does the forward pass take or name the parts, and in which order does your code?",
    "Follow one entry of the first part to the output, and its gradient back. Where does it arrive?",
    "Compare the names, or the indices, on both sides of each assignment.",
)
WHERE_WINDOWS_BEGIN = (
    "Write down where each window begins and how long it is. Which argument says which of the two?",
    "Follow the second window back to the entries that it was made from.",
    "Print the first and the last index that your code uses, and compare them with the forward pass.",
)
SUMMED_TOO_FAR = (
    "Which operation in your code takes a sum or a mean over entries that must be kept separate?",
    "Print the array before and after this operation. Which of the two has a number for each entry?",
    "Compare your answer with the input, entry by entry. Does each entry of the input have its own number in it?",
)
STORED_IN_ANOTHER = (
    "Compare the names on both sides of each assignment. Does each gradient belong to the variable on the left?",
    "Follow this variable through the forward pass, and its gradient back. Which line of your code computes it?",
)
CHANGED_AFTERWARDS = (
    "Which operation in your code has no counterpart in the forward pass or in its derivative?",
    "Leave this operation out. Is the answer right then?",
    "Print the array before and after each operation of your formula. From where on are the numbers wrong?",
)
WHICH_ENTRIES_TOGETHER = (
    "Along which axis does the forward pass work, and which axis does your code name?",
    "Take two rows and three columns. Which entries does the forward pass combine: those of a row, or of a column?",
    "Print what your code sums, or divides by, in this small case. Is there one number for each row, or each column?",
)
WHICH_PROBABILITIES = (
    "Do your probabilities add up to 1 in every row, or in every column? Print both sums.",
    "Along which axis does the forward pass take the softmax, and which axis does your code name?",
    "Take one row of a small case. By which sum is each of its exponentials divided in your code?",
)
MISSING_PARENTHESES = (
    "Which operations does Python do first in this line? Add the parentheses that you mean.",
    "If the upstream gradient were twice as large, how much larger should your answer be? And how much larger is it?",
    "Write the derivative on a line of its own, and multiply it by the upstream gradient on the next line.",
)
USES_OF_AN_ENTRY = ("How many times does the forward pass use each entry, and how many times does your code?",)
FOLLOW_ONE_ENTRY = (
    "The numbers are right but in the wrong places. Follow one entry from the input to the output, and back.",
)
WHICH_INDEX = (
    "Follow one entry from the input to the output, and its gradient back. At which index does your code use it?",
    "Write out the forward pass for two entries. Which entries of the two arrays meet, and which in your code?",
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
ANOTHER_NUMBER_OF_AXES = (
    "How many axes does each array in this line have, and how many must it have for this operation?",
    "Which axis is missing, or which axes must become one? Then which other arrays of this line must change with it?",
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
NOTHING_RETURNED = (
    "What does a function return that ends without `return`?",
    "Is there a way through your function, past an `if` or a loop, that reaches no `return`?",
    "Which variable holds the answer at the end?",
)
NONE_AMONG_SEVERAL = (
    "What is the gradient of a value before anything is added to it? And if nothing is ever added?",
    "Which of the returned values is `None`, and which line should have set it?",
    "What do you start from: `None`, or zeros?",
)
CHANGED_BY_ROUNDING = (
    "Does adding h and subtracting it again restore the value exactly? Save the value and put it back.",
)
KEPT_BETWEEN_CALLS = (
    "What does your code keep from one call to the next, in a global variable or in an attribute of the function?",
    "Which line is not reached in the second call, or uses what the first one computed?",
    "Compute the answer from the arguments of this call alone.",
)
DRAWN_AT_RANDOM = ("What is drawn at random in your test, and what makes it draw the same numbers again?",)
BY_TYPE: Mapping[str, tuple[str, ...]] = {
    "tuple": ("Is there a comma at the end of the line, or between two values? A comma makes a tuple.",),
    "str": ("Return the number itself, without quotes or formatting.",),
    "list": ("Which function turns a list of numbers into an array?",),
    "function that was not called": ("Which pair of parentheses calls the function?",),
}
"""By the type of what is returned in place of an array or a number, as a message calls it."""


def missing_method(operation: str, method: str) -> tuple[str, ...]:
    """Return the hints on a special method that Python does not find in a class.

    Args:
        operation: what is computed, such as `int - Dual`.
        method: the method that Python calls for it, such as `Dual.__rsub__`.
    """
    return (
        f"To compute `{operation}`, Python calls `{method}`. Does your class have a method of this name?",
        "Which operands does this method get as its arguments, in which order, and what must it return?",
        "Call the method yourself, with small numbers, and work out by hand what it must return.",
    )


def fix_first(names: Sequence[str], is_same: bool) -> tuple[str, ...]:
    """Return the hints for an answer that has the mistake of another answer, or is wrong only because others are.

    Args:
        names: the other answers, at least one: a name such as "inp.g", or words such as "the first value returned".
        is_same: whether it is the same mistake; else the answer is right, given the wrong ones.
    """
    others = " and ".join(name if " " in name else f"`{name}`" for name in names)
    lines = (
        "Which line do both answers depend on?"
        " If there is none, each has a line of its own, and both lines contain the same mistake."
        if is_same
        else "Taken by themselves, the lines of this answer are right. Which wrong array do they use?"
    )
    return f"Fix {others} first, then look again.", lines, f"The hints for {others} apply here, too."


def hints_for(
    code: str,
    own: Sequence[str],
    answers: Sequence[str],
    *,
    derives: bool = True,
    by_formula: bool = True,
    loss: str = "the loss",
) -> tuple[str, ...]:
    """Return three hints: those of the mistake, then of its code, filled up with the last ones of the answer.

    The hints of a mistake or a code ask how to find it. The last one of the answer is about the whole formula: it is
    shown where the mistake is somewhere in the formula (`OF_FORMULA`), if nobody knows where, and if this is the only
    answer, because with several the mistake may be in what leads to this one. Where nothing is derived, a mistake that
    is known is found by what is wrong in the result, and by the first number that is; else the hints are those of the
    answer.

    Args:
        code: the public code of the mistake.
        own: the hints of the mistake; may be empty.
        answers: the three hints that the exercise declares for the answer.
        derives: whether the answer is derived from a forward pass, which the hints of most codes speak of.
        by_formula: whether the last hint of the answer may help: it is the only answer, and no edit of the right
            program explains it.
        loss: what is differentiated: "the loss", or "the output" where the exercise has no loss.
    """
    fitting = HINTS.get(code, ()) if derives or code in OF_ANY_FUNCTION else ()
    if not derives and code not in OF_ANY_FUNCTION | OF_TESTS and (own or code in KNOWN):
        fitting = (*(() if own else OF_RESULT.get(code, ())), *FIRST_WRONG_NUMBER, RESULT_OF_CHANGE)
    ladder = (*own, *(hint.replace("the loss", loss) for hint in fitting if hint not in own))[:STEPS]
    if not own and derives and by_formula and code in OF_FORMULA:
        ladder = ladder[: STEPS - 1]
    return (*ladder, *answers[len(ladder) : STEPS])
