"""Exercises of unit 03: one example through a linear layer, one number at a time."""

from handgrad import Exercise, Misconception, normal, returned, returned_jacobian, upstream

df_dx = Exercise(
    title="The Jacobian of the outputs by the inputs",
    forward=lambda x, w, b: x @ w + b,
    inputs={"x": normal("n"), "w": normal("n m"), "b": normal("m")},
    answers=returned_jacobian("x"),
    hints={
        "return": (
            "Write out f[j] as a sum of products. Which term contains x[k], and at what rate does it grow?",
            "Entry [j, k] answers: how does output j react to input k? One row for each output.",
            "You know all n times m numbers already; ask whether their rows and columns are the right way round.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "return",
            lambda x, w: x.expand(w.shape[1], w.shape[0]),
            says="every row is a copy of x",
            hints=("In a product of x[k] and a weight, at what rate does the product grow with x[k]?",),
        ),
    ),
)

df_db = Exercise(
    title="The Jacobian of the outputs by the biases",
    forward=lambda x, w, b: x @ w + b,
    inputs={"x": normal("n"), "w": normal("n m"), "b": normal("m")},
    answers=returned_jacobian("b"),
    hints={
        "return": (
            "Which entries of b does f[j] contain? And at what rate does it grow with each?",
            "Fill in the table for m = 3: one row for each output, one column for each bias.",
            "All but m entries are the same number. Which entries are the others, and which matrix is that?",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "return",
            lambda b: b.new_ones(len(b), len(b)),
            says="every entry is 1, as if every bias were added to every output",
            hints=("Raise b[0]. Does f[1] move?",),
        ),
        Misconception(
            "extra-factor",
            "return",
            lambda b: b.diag(),
            says="the right places are filled, but with the biases and not with the rates",
            hints=("Raise b[l] by 0.001. By how much does f[l] rise, and does it matter how large b[l] was?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda b: b.expand(len(b), len(b)),
            says="every row is a copy of b",
            hints=("How does a sum react to one of its terms? Does the term's size matter?",),
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
            "Nudge x[k]. Which outputs move?",
            "Every output that moves, moves the loss at its own rate in df. Paths add.",
            "Write the sum over the outputs with its indices; the axis m disappears, (n,) remains.",
        ),
    },
    misconceptions=(
        Misconception(
            "diagonal-only",
            "return",
            lambda w, out_g: (w * out_g).tril().triu().sum(1),
            says="every entry follows only the output with its own number",
            hints=("Nudge x[0]: does only f[0] move?",),
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
            "Nudge w[k,j]. Which outputs move, and at what rate?",
            "One path for each weight, so nothing is summed: one product for each entry.",
            "A table of all products of two vectors, with k down the side and j along the top.",
        ),
    },
    misconceptions=(
        Misconception(
            "diagonal-only",
            "return",
            lambda x, out_g: (x.unsqueeze(1) * out_g).tril().triu(),
            says="only the entries with k = j are there",
            hints=("Does w[0,1] have no effect on the loss?",),
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
            "Nudge b[l]. Which outputs move, and at what rate?",
            "Write the sum over the outputs with the Jacobian's zeros and ones in it. Which terms survive?",
            "One output, at the rate 1: what is the loss's rate for that output?",
        ),
    },
)
