"""Exercises of unit 04: a linear layer over a mini-batch."""

from handgrad import Exercise, accumulating, normal, output, stored, wanted

lin_grad = Exercise(
    title="A linear layer, backwards",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={"inp": normal("bs n"), "out": output(), "w": normal("n m"), "b": normal("m")},
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "One entry of `inp` is multiplied by a whole row of `w`: how many outputs does it affect?",
            "Each output that the entry affects contributes its upstream gradient, times the entry of `w` on that"
            " path.",
            "Write the shapes of `out.g` and `w` side by side: sum over the axis they share, so that `(bs, n)` "
            "remains.",
        ),
        "w.g": (
            "One entry of `w` is used once for every row of the batch. How are its contributions combined?",
            "In row `b`, `w[i,j]` is multiplied by `inp[b,i]` and contributes to `out[b,j]`; the contributions are "
            "summed over `b`.",
            "`w.g` is a matrix product that sums over the batch axis, so that `(n, m)` remains.",
        ),
        "b.g": (
            "How many times is `b[j]` used in the forward pass?",
            "What is copied in the forward pass is summed in the backward pass: every row uses the same `b`.",
            "Sum `out.g` over the batch axis only; `(m,)` remains.",
        ),
    },
)

linear_grad = Exercise(
    title="The same layer with torch.nn.Linear's weights",
    forward=lambda inp, weight, bias: inp @ weight.t() + bias,
    inputs={"inp": normal("bs n"), "out": output(), "weight": normal("m n"), "bias": normal("m")},
    answers=stored("inp.g", "weight.g", "bias.g"),
    hints={
        "inp.g": (
            "What is the sum for one entry of `inp` now? Derive it again; do not patch the line from `lin_grad`.",
            "`inp[i,k]` affects every `out[i,j]`. By which entry of `weight` is it multiplied on the way?",
            "The summed index is last in `out.g` and already first in `weight`. Does anything need a transpose?",
        ),
        "weight.g": (
            "`weight[j,k]` contributes to column `j` of `out`. By what is it multiplied there?",
            "Sum over the examples, and look at the order of the two remaining indices.",
            "Shape `(m, n)`: the axis `m` comes from `out.g` and must come first, `n` from `inp`.",
        ),
        "bias.g": (
            "Does the way `weight` is stored change what happens to `bias`?",
            "Each `bias[j]` is added once in every row of the batch.",
            "Reduce `out.g` from `(bs, m)` to `(m,)`: which is the axis of the examples?",
        ),
    },
)

lin_grad_nd = Exercise(
    title="A linear layer with one more axis",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={"inp": normal("bs t n"), "out": output(), "w": normal("n m"), "b": normal("m")},
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "Does any of the `bs` times `t` rows affect the output of another row?",
            "Nothing is summed over `bs` or `t` here: every row of `inp` has its own gradient.",
            "The product of `lin_grad` works unchanged: `@` acts on the last two axes and keeps the leading ones; "
            "`(bs, t, n)` remains.",
        ),
        "w.g": (
            "How many times is one entry of `w` used here? Count the rows.",
            "The rows have two axes, `bs` and `t`. Over which of them must you sum?",
            "Reshape all the rows into one long batch first; then the gradient is the product that you know from "
            "`lin_grad`.",
        ),
        "b.g": (
            "How many times is `b[j]` used here? Count the rows.",
            "If an axis `t` is left over, only one of the two leading axes has been summed.",
            "`sum` accepts several axes at once; only the last axis of `out.g` may remain.",
        ),
    },
)

lin_grad_accumulate = Exercise(
    title="Add to the gradient that is already there",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={
        "inp": accumulating(normal("bs n")),
        "out": output(),
        "w": accumulating(normal("n m")),
        "b": accumulating(normal("m")),
    },
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "Did `inp` have a `.g` before the call? What happens to it in your function?",
            "The gradient is that of `lin_grad`; only how you store it is new. There are two cases: with a `.g`, and "
            "without.",
            "`hasattr`, or `getattr` with a default, tells the two cases apart; add where a gradient exists.",
        ),
        "w.g": (
            "A layer used in two places makes two contributions to its `w.g`. Are both kept?",
            "The gradient is that of `lin_grad`; only how you store it is new. There are two cases: with a `.g`, and "
            "without.",
            "Start from the gradient stored on `w`, or from zero if there is none, and add the gradient of this batch.",
        ),
        "b.g": (
            "Did `b` have a `.g` before the call? What happens to it in your function?",
            "The gradient is that of `lin_grad`; only how you store it is new. There are two cases: with a `.g`, and "
            "without.",
            "Start from the gradient stored on `b`, or from zero if there is none, and add the gradient of this batch.",
        ),
    },
)

lin_grad_needed = Exercise(
    title="Only the gradients that are needed",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={
        "inp": normal("bs n"),
        "out": output(),
        "w": normal("n m"),
        "b": normal("m"),
        "needs": wanted("inp w b"),
    },
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "Is `inp` in `needs`? If it is not, nothing may be stored on it.",
            "The gradient is that of `lin_grad`. Check first, and compute it inside the `if`.",
            "Use three separate checks, one for each name: each gradient belongs under its own `if`.",
        ),
        "w.g": (
            "Is `w` in `needs`? If it is not, nothing may be stored on it.",
            "The gradient is that of `lin_grad`. Check first, and compute it inside the `if`.",
            "Check each name separately: after an `elif`, a second gradient in `needs` is never computed.",
        ),
        "b.g": (
            "Is `b` in `needs`? If it is not, nothing may be stored on it.",
            "The gradient is that of `lin_grad`. Check first, and compute it inside the `if`.",
            "Check each name separately: after an `elif`, a second gradient in `needs` is never computed.",
        ),
    },
)

lin_grad_lean = Exercise(
    title="A linear layer, backwards, in little memory",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={"inp": normal("bs n"), "out": output(), "w": normal("n m"), "b": normal("m")},
    answers=stored("inp.g", "w.g", "b.g"),
    never_holds="bs n m",
    hints={
        "inp.g": (
            "Which intermediate arrays do you create, and how large is the largest of them?",
            "Broadcasting `out.g` against `w` creates one entry for every example, input and output. Is that needed?",
            "One operation multiplies and sums at once, and its result is no larger than `(bs, n)`.",
        ),
        "w.g": (
            "Which intermediate arrays do you create, and how large is the largest of them?",
            "A stack of `bs` matrices, summed afterwards, is `bs` times as large as the answer.",
            "One operation multiplies and sums over the examples at once; its result is `(n, m)`.",
        ),
        "b.g": (
            "Which gradient of the three never needed a large array?",
            "`b.g` is the same as in `lin_grad`: every row uses the same `b`.",
            "Sum `out.g` itself over the axis of the examples.",
        ),
    },
)

bmm_grad = Exercise(
    title="A batch of matrix products, backwards",
    forward=lambda a, b: a @ b,
    inputs={"a": normal("bs n k"), "b": normal("bs k m"), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Look at one example on its own. Which layer is it, with `b` in place of `w`?",
            "Which index do `out.g` and `b` share, apart from the batch? Sum over that one.",
            "Transpose the last two axes of one factor, and only those: `t()` is for matrices only, so name the axes.",
        ),
        "b.g": (
            "Every example has its own `b`. Is anything summed over the batch?",
            "Nothing is summed over the batch; but within one example, `b[k,j]` is used once for each of the `n` rows"
            " of `a`.",
            "Sum over the axis `n` and keep `bs` in front; transpose the last two axes of `a`, and only those.",
        ),
    },
)
