"""Exercises of unit 03: one example through a linear layer, one number at a time."""

from handgrad import Exercise, Misconception, normal, returned, returned_jacobian, upstream

df_dx = Exercise(
    title="The Jacobian with respect to the inputs",
    forward=lambda x, w, b: x @ w + b,
    inputs={"x": normal("n"), "w": normal("n m"), "b": normal("m")},
    answers=returned_jacobian("x"),
    hints={
        "return": (
            "Write `f[j]` as a sum of products. Which term contains `x[k]`, and at what rate does it grow with `x[k]`?",
            "Entry `[j, k]` is the derivative of output `j` with respect to input `k`: one row for each output.",
            "All `n` times `m` numbers are already given; check which index counts the rows and which the columns.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "return",
            lambda x, w: x.expand(w.shape[1], w.shape[0]),
            says="every row is a copy of x",
            hints=("At what rate does the product of `x[k]` and a weight grow with `x[k]`?",),
        ),
    ),
)

df_db = Exercise(
    title="The Jacobian with respect to the biases",
    forward=lambda x, w, b: x @ w + b,
    inputs={"x": normal("n"), "w": normal("n m"), "b": normal("m")},
    answers=returned_jacobian("b"),
    hints={
        "return": (
            "Which entries of `b` does `f[j]` contain, and at what rate does it grow with each of them?",
            "Fill in the table for `m` = 3: one row for each output, one column for each bias.",
            "All but `m` of the entries are the same number. Where are the other `m`, and which well-known matrix is "
            "that?",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "return",
            lambda b: b.new_ones(len(b), len(b)),
            says="every entry is 1, as if every bias were added to every output",
            hints=("Raise `b[0]`. Does `f[1]` move?",),
        ),
        Misconception(
            "extra-factor",
            "return",
            lambda b: b.diag(),
            says="the right entries are filled, but with the biases; they must hold the derivatives",
            hints=("Raise `b[l]` by 0.001. By how much does `f[l]` rise, and does it depend on the value of `b[l]`?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda b: b.expand(len(b), len(b)),
            says="every row is a copy of b",
            hints=(
                "What is the derivative of a sum with respect to one of its terms? Does the value of the term matter?",
            ),
        ),
    ),
)

input_grad = Exercise(
    title="The gradient of the input",
    forward=lambda x, w, b: x @ w + b,
    inputs={"x": normal("n"), "w": normal("n m"), "b": normal("m"), "df": upstream()},
    answers=returned("x"),
    hints={
        "return": (
            "Nudge `x[k]`. Which outputs move?",
            "Each output that moves is one path to the loss, with its own entry of `df`; the paths add up.",
            "Write the sum over the outputs with its indices: the axis `m` is summed over, and `(n,)` remains.",
        ),
    },
    misconceptions=(
        Misconception(
            "diagonal-only",
            "return",
            lambda w, out_g: (w * out_g).tril().triu().sum(1),
            says="every entry uses only the output with the same index",
            hints=("Nudge `x[0]`: does only `f[0]` move?",),
        ),
    ),
)

weight_grad = Exercise(
    title="The gradient of the weights",
    forward=lambda x, w, b: x @ w + b,
    inputs={"x": normal("n"), "w": normal("n m"), "b": normal("m"), "df": upstream()},
    answers=returned("w"),
    hints={
        "return": (
            "Nudge `w[k,j]`. Which outputs move, and at what rate?",
            "There is one path for each weight, so nothing is summed: each entry is a single product.",
            "The answer is a table of all products of the entries of two vectors, with `k` for the rows and `j` for "
            "the "
            "columns.",
        ),
    },
    misconceptions=(
        Misconception(
            "diagonal-only",
            "return",
            lambda x, out_g: (x.unsqueeze(1) * out_g).tril().triu(),
            says="only the entries with k = j are filled",
            hints=("Does `w[0,1]` have no effect on the loss?",),
        ),
    ),
)

bias_grad = Exercise(
    title="The gradient of the bias",
    forward=lambda x, w, b: x @ w + b,
    inputs={"x": normal("n"), "w": normal("n m"), "b": normal("m"), "df": upstream()},
    answers=returned("b"),
    hints={
        "return": (
            "Nudge `b[l]`. Which outputs move, and at what rate?",
            "Write the sum over the outputs with the zeros and ones of the Jacobian in it. Which terms remain?",
            "Only one output changes, at rate 1: what is the gradient of the loss with respect to that output?",
        ),
    },
)
