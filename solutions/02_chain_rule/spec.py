"""Exercises of unit 02: local derivatives, multiplied along a path and added over paths."""

from handgrad import Exercise, Misconception, away_from, each_of, normal, number, output, positive, returned, stored


def _chain(x):
    """y = x + 2, z = 3 * y**2, out = z.mean()"""
    y = x + 2
    z = 3 * y**2
    return z.mean()


def _chain_with_loss(x, target):
    """out = (3 * (x + 2) ** 2).mean(), loss = (out - target) ** 2"""
    out = _chain(x)
    return (out - target) ** 2


dy_dx = Exercise(
    title="The derivative of y = x + 2",
    forward=lambda x: x + 2,
    inputs={"x": normal("...")},
    answers=returned("x"),
    hints={
        "return": (
            "Raise one entry of `x` by 0.001. By how much does the same entry of `y` change?",
            "Does the constant 2 affect how far `y` moves, or only where `y` starts?",
            "Every entry has the same derivative, whatever `x` is: fill a tensor of the shape of `x` with it.",
        ),
    },
    misconceptions=(
        Misconception(
            "hard-coded",
            "return",
            lambda x: 0 * x + 2,
            says="every entry is 2, the constant that was added",
            hints=("Replace the 2 by 100: does `y` react to `x` more strongly?",),
        ),
        Misconception(
            "hard-coded",
            "return",
            lambda x: 0 * x,
            says="every entry is 0, as if y did not depend on x",
            hints=("The derivative of the constant is 0, but what is that of `x`?",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda out: out,
            says="every entry is y itself, not the derivative of y with respect to x",
            hints=("Is the answer larger where `y` is larger? Nudge a large entry and a small one.",),
        ),
    ),
)

dz_dy = Exercise(
    title="The derivative of z = 3y²",
    forward=lambda y: 3 * y**2,
    inputs={"y": normal("...")},
    answers=returned("y"),
    hints={
        "return": (
            "Is the slope of a parabola the same everywhere, or does it depend on `y`?",
            "Use the power rule; the constant factor 3 stays.",
            "The exponent comes down and multiplies the 3, and the new exponent is one less.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-point",
            "return",
            lambda y: 6 * (y + 2),
            says="the derivative is taken at y + 2, but y is already x + 2",
            hints=("Which value is `y` here: before or after the 2 was added?",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda out: out,
            says="every entry is z itself, not the derivative of z with respect to y",
            hints=("Nudge `y` by 0.001 and divide the change of `z` by 0.001. Is the result `z`?",),
        ),
        Misconception(
            "hard-coded",
            "return",
            lambda y: 0 * y + 6,
            says="every entry is 6, the slope at y = 1",
            hints=("Is a parabola equally steep everywhere?",),
        ),
        Misconception(
            "hard-coded",
            "return",
            lambda y: 0 * y + 18,
            says="every entry is 18, the slope at y = 3",
            hints=("In the lesson's example `y` was 3. What is it here?",),
        ),
    ),
)

dout_dz = Exercise(
    title="The derivative of the mean",
    forward=lambda z: z.mean(),
    inputs={"z": normal("...")},
    answers=returned("z"),
    hints={
        "return": (
            "Raise one of four entries by 0.001. By how much does the mean change?",
            "Each entry contributes to the mean with the same weight, whatever its value.",
            "The weight depends only on the number of entries of `z`, over all of its axes; fill a tensor of its "
            "shape with it.",
        ),
    },
    misconceptions=(
        Misconception(
            "hard-coded",
            "return",
            lambda z: 0 * z + 1 / 4,
            says="every entry is 1/4, however many entries z has",
            hints=("The lesson's example had four entries. How many does this `z` have?",),
        ),
        Misconception(
            "extra-factor",
            "return",
            lambda z: z / z.numel(),
            says="every entry is that entry's contribution to the mean, not the derivative of the mean",
            hints=(
                "Nudge a large entry, then a small one, by the same amount. Does the mean move further for one of "
                "them?",
            ),
        ),
        Misconception(
            "shape-special",
            "return",
            lambda z: 0 * z + 1 / len(z),
            says="every entry is 1 over the length of the first axis; it must be 1 over the total number of entries",
            hints=("The mean is taken over all axes. How many entries is that?",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda z: 0 * z + z.mean(),
            says="every entry is the mean itself, not its derivative",
            hints=("Add 100 to all entries: the mean changes. Does its response to a nudge change?",),
        ),
    ),
)

dout_dx = Exercise(
    title="The whole chain, from x to out",
    forward=_chain,
    inputs={"x": normal("...")},
    answers=returned("x"),
    hints={
        "return": (
            "Which three steps lead from `x` to `out`? You have already found the derivative of each one.",
            "Along a path the derivatives multiply. At which value is the middle one taken?",
            "The middle derivative is taken at `y`, so compute `y` from `x` first; the mean contributes one over the "
            "number of entries.",
        ),
    },
    misconceptions=(
        Misconception(
            "hard-coded",
            "return",
            lambda x: 6 * (x + 2) / 4,
            says="the answer is right only when x has four entries, but x can have any number",
            hints=("Where does the number of entries come into your formula?",),
        ),
        Misconception(
            "hard-coded",
            "return",
            lambda x: 0 * x + 4.5,
            says="every entry is 4.5, the answer at x = 1 with four entries",
            hints=("4.5 is the answer for one `x`. Which of its factors changes with `x`?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda x: 1 + 6 * (x + 2) + 1 / x.numel(),
            says="the three derivatives are added; they must be multiplied",
            hints=("Along one path, do derivatives add or multiply?",),
        ),
        Misconception(
            "wrong-local",
            "return",
            lambda x: (6 * x + 2) / x.numel(),
            says="the factors multiply x alone; they must multiply the whole of `y`",
            hints=("Insert a number for `x`: what is `y`, and what does your formula use in its place?",),
        ),
    ),
)

dloss_dx = Exercise(
    title="One more step: a loss with a target",
    forward=_chain_with_loss,
    # The target stays below anything out can be: their difference is never lost to rounding.
    inputs={"x": normal("..."), "target": number(-6.0, -1.0)},
    answers=returned("x"),
    hints={
        "return": (
            "The chain from `x` to `out` is the one you already have. Which step comes after it?",
            "The new step is a square: what is its derivative with respect to `out`, and on what does it depend?",
            "Compute `out` first; the new derivative is a single number, and it multiplies every entry of the old "
            "chain.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "return",
            lambda x, target: 2 * (x - target) * 6 * (x + 2) / x.numel(),
            says="x is used in place of out: the loss compares out with the target",
            hints=("Which two numbers does the loss compare?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda x, target: 2 * (3 * (x + 2) ** 2 - target) * 6 * (x + 2) / x.numel(),
            says="the target is subtracted from every entry of z; it must be subtracted from their mean",
            hints=("What does the forward pass subtract the target from: `z`, or `out`?",),
        ),
        Misconception(
            "missing-upstream",
            "return",
            lambda x: 6 * (x + 2) / x.numel(),
            says="the chain stops at out: the derivative of the loss with respect to out is missing",
            hints=("Which step comes after `out`, and does your answer depend on the target?",),
        ),
        Misconception(
            "hard-coded",
            "return",
            lambda x, target: 2 * ((3 * (x + 2) ** 2).mean() - target) * 6 * (x + 2) / 4,
            says="the answer is right only when x has four entries, but x can have any number",
            hints=("Where does the number of entries come into your formula?",),
        ),
    ),
)

pow_grad = Exercise(
    title="A power, backwards",
    forward=lambda inp, k: inp**k,
    inputs={"inp": normal("..."), "out": output(), "k": each_of(3, 2, 4, 5)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Which two factors does the chain rule multiply here, entry by entry?",
            "The local derivative of a power is another power, with a factor in front. Both follow from `k`.",
            "Check the exponent: it is no longer `k`. And multiply by the upstream gradient, which is stored on `out`.",
        ),
    },
)

sqrt_grad = Exercise(
    title="A square root, backwards",
    forward=lambda inp: inp.sqrt(),
    inputs={"inp": positive("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Is the square root steeper near 0 or far out? How must the local derivative change when `inp` grows?",
            "A square root is the power one half, so the rule of `pow_grad` holds. Which exponent remains?",
            "The local derivative is one half, divided by a tensor that you already have.",
        ),
    },
)

exp_grad = Exercise(
    title="The exponential, backwards",
    forward=lambda inp: inp.exp(),
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Which two factors does the chain rule multiply here, entry by entry?",
            "Which function is its own derivative? You need not compute it a second time.",
            "One of your two arguments already holds the local derivative; multiply it by the upstream gradient.",
        ),
    },
)

log_grad = Exercise(
    title="The logarithm, backwards",
    forward=lambda inp: inp.log(),
    inputs={"inp": positive("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Which two factors does the chain rule multiply here, entry by entry?",
            "The larger `inp`, the flatter its logarithm. Which simple function decreases like that?",
            "The local derivative is a function of `inp`, not of `out`; multiply it by the upstream gradient.",
        ),
    },
)

inv_grad = Exercise(
    title="One over inp, backwards",
    forward=lambda inp: 1 / inp,
    inputs={"inp": away_from(0.0, "...", gap=0.4), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "When `inp` rises a little, does one over `inp` rise or fall?",
            "Write one over `inp` as a power, and apply the power rule. What is the new exponent?",
            "The exponent -1 comes down as a factor, and the new exponent is one smaller still.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, out_g: 0 * inp - out_g,
            says="the exponent was raised from -1 to 0; the power rule lowers it by one",
            hints=("Subtract one from -1.",),
        ),
    ),
)

div_grad = Exercise(
    title="A quotient, backwards",
    forward=lambda a, b: a / b,
    inputs={"a": normal("..."), "b": away_from(0.0, "...", gap=0.4), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Hold `b` fixed. By which constant is `a` then multiplied?",
            "With `b = 2`, raise `a` by 0.001 and see how far `out` moves; then try `b = 10`.",
            "The local derivative depends on `b` alone; multiply it by the upstream gradient.",
        ),
        "b.g": (
            "Hold `a` fixed and raise `b`: does the quotient rise or fall (for positive `a` and `b`)?",
            "Now `out` is `a` times one over `b`, and you know the derivative of one over `b`.",
            "Check three things: the sign, the factor `a`, and the power of `b` in the denominator.",
        ),
    },
)

pow_both_grad = Exercise(
    title="Powers of a tensor, backwards",
    forward=lambda a, b: a**b,
    inputs={"a": positive("..."), "b": normal("..."), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Hold `b` fixed. Which rule applies?",
            "The exponent comes down as a factor and is lowered by one; here every entry has its own exponent.",
            "Take your answer to `pow_grad`, with `b` in place of `k`.",
        ),
        "b.g": (
            "Hold `a` fixed. `2 ** b` doubles when `b` grows by 1: at what rate does it grow?",
            "Write `a ** b` as a power of e. What is `b` multiplied by in the exponent?",
            "As in `exp_grad`, `out` itself is one factor; the other is a logarithm.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "b.g",
            lambda out, out_g: out_g * out * out.log(),
            says="in b.g, the logarithm is that of `out`; it must be that of a",
            hints=("Write `a ** b` as `exp(b * log(a))`, and differentiate with respect to `b`.",),
        ),
    ),
)

two_paths_grad = Exercise(
    title="Two paths: the input is used more than once",
    forward=lambda inp: inp * inp.sin() + inp**2,
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Underline every use of `inp` in the forward pass. How many are there?",
            "Differentiate each use as if the others were constants, then combine the contributions.",
            "The product gives two contributions, the square a third: add them, then multiply by `out.g`.",
        ),
    },
)
