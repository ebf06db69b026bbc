"""Exercises of unit 05: activations, entry by entry."""

import math

from handgrad import Exercise, Misconception, away_from, each_of, mask, normal, number, output, stored, taking_turns

# lo and hi for each trial: of either sign, so that no mask made from 0 or from |inp| fits.
_RANGES = ((-0.75, 0.5), (0.25, 1.5), (-2.0, -0.5), (-0.75, 1.75))


def _gelu(inp):
    """out = inp * phi, phi = (1 + (inp / 2**0.5).erf()) / 2"""
    phi = (1 + (inp / 2**0.5).erf()) / 2
    return inp * phi


relu_grad = Exercise(
    title="ReLU, backwards",
    forward=lambda inp: inp.clamp_min(0),
    inputs={"inp": away_from(0.0, "..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge a positive entry, then a negative one. Which of the two changes `out`?",
            "The local derivative is a mask: some entries of `out.g` are multiplied by 1, the others by 0.",
            "Which entries get the factor 1, and which tensor decides it? Try a negative `inp`, a positive one, and 0.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "inp.g",
            lambda inp, out_g: out_g.clamp_min(0) * (inp > 0),
            says="negative entries of out.g are blocked as well, even where inp is positive",
            hints=("Can an entry of the upstream gradient be negative?",),
        ),
    ),
)

shifted_relu_grad = Exercise(
    title="A shifted ReLU, backwards",
    forward=lambda inp: inp.clamp_min(0) - 0.5,
    # Between 0 and 0.5 the gate is open although out is negative.
    inputs={"inp": away_from((0.0, 0.5), "..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "There are two steps. What is the derivative of the second one, the shift?",
            "The mask is that of relu. Which of the two tensors still tells where relu passes its input?",
            "By how much does `out` move when a negative entry of `inp` is nudged, and when an entry of 0.3 is nudged?",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, out_g: out_g * (inp > 0) - 0.5,
            says="the 0.5 is subtracted from every gradient as well",
            hints=(
                "If `out.g` were zero everywhere, what would your code store?",
                "A constant shifts the output. Does that shift change when you nudge `inp`?",
            ),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, out_g: out_g * ((inp > 0) * 1.0 - 0.5),
            says="the 0.5 is subtracted from the local derivative as well",
            hints=("What is the slope of a line, and what is it after the line is shifted down?",),
        ),
    ),
)

leaky_relu_grad = Exercise(
    title="Leaky ReLU, backwards",
    forward=lambda inp, slope: inp.where(inp > 0, slope * inp),
    inputs={"inp": away_from(0.0, "..."), "out": output(), "slope": number(0.1, 0.4)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge a positive entry and a negative one. By how much does `out` move in either case?",
            "The local derivative of relu is 1 or 0. Which of the two is different here?",
            "Choose between two factors, entry by entry, by the sign of `inp`; multiply by the upstream gradient.",
        ),
    },
    misconceptions=(
        Misconception(
            "missing-local",
            "inp.g",
            lambda out_g: out_g,
            says="where inp is negative, the factor `slope` is missing",
            hints=("Nudge a negative entry. By how much does `out` move?",),
        ),
    ),
)

sigmoid_grad = Exercise(
    title="Sigmoid, backwards",
    forward=lambda inp: inp.sigmoid(),
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Where is the sigmoid steepest, and how steep is it far out on either side?",
            "The derivative can be written with `out` alone: a product of two numbers that add up to 1.",
            "The two factors are `out` itself and its complement to 1; multiply both by the upstream gradient.",
        ),
    },
)

tanh_grad = Exercise(
    title="Tanh, backwards",
    forward=lambda inp: inp.tanh(),
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Tanh goes from -1 to 1. How steep is it in the middle, and how steep near the ends?",
            "The derivative can be written with `out` alone: it is 1 where `out` is 0, and 0 where `out` is 1 or -1.",
            "Tanh is equally flat at both ends, so the sign of `out` cannot matter. Which power removes a sign?",
        ),
    },
)

softplus_grad = Exercise(
    title="Softplus, backwards",
    forward=lambda inp: (1 + inp.exp()).log(),
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Far to the left softplus is flat, far to the right it is a line of slope 1. Which function goes from 0 "
            "to 1 like "
            "that?",
            "Exponential, sum, logarithm: multiply the three derivatives, and simplify.",
            "The result is a quotient of exponentials that you know: it maps any number to a probability.",
        ),
    },
)

silu_grad = Exercise(
    title="SiLU, backwards",
    forward=lambda inp: inp * inp.sigmoid(),
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Underline every `inp` in the forward pass. How many paths lead to `out`?",
            "Use the product rule: differentiate one factor with the other held fixed, then vice versa, and add.",
            "Compute the sigmoid of `inp` first, and use its derivative from `sigmoid_grad`; note that `out` is not "
            "the sigmoid.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda out, out_g: out_g * out * (1 - out),
            says="this is the derivative of sigmoid, with out used in place of the sigmoid",
            hints=(
                "Is `out` between 0 and 1, as a sigmoid is? Compute the sigmoid from `inp`.",
                "`inp` is also a factor outside the sigmoid: how many paths are there?",
            ),
        ),
    ),
)


def _slope_of_tanh_approximation(inp, out_g):
    """Return the gradient of `inp * (1 + tanh(k * (inp + 0.044715 * inp**3))) / 2`, k the square root of 2 / pi."""
    k = (2 / math.pi) ** 0.5
    bent = (k * (inp + 0.044715 * inp**3)).tanh()
    return out_g * (1 + bent + inp * (1 - bent**2) * k * (1 + 3 * 0.044715 * inp**2)) / 2


def _slope_of_sigmoid_approximation(inp, out_g):
    """Return the gradient of `inp * sigmoid(1.702 * inp)`."""
    gate = (1.702 * inp).sigmoid()
    return out_g * (gate + 1.702 * inp * gate * (1 - gate))


gelu_grad = Exercise(
    title="GELU, backwards",
    forward=_gelu,
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Underline every `inp` in the forward pass. How many paths lead to `out`?",
            "A product again, of `inp` and `Phi(inp)`. Phi is the normal distribution function: what is its "
            "derivative?",
            "The derivative of Phi is the normal density (do not forget the factor that makes its area 1); then use "
            "the product rule.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-factor",
            "inp.g",
            lambda inp, out_g: out_g * (1 + (inp / 2**0.5).erf() + inp * (-(inp**2) / 2).exp() / (2 * math.pi) ** 0.5),
            says="the term `phi` is twice what it should be: 1 + erf(...) must be divided by 2",
            hints=("What is Phi far out on the right, and what is the first term of your formula there?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            _slope_of_tanh_approximation,
            says="this is the derivative of the tanh approximation, close to that of the exact GELU but not the same",
            hints=("Which function does the forward pass use: erf or tanh?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            _slope_of_sigmoid_approximation,
            says="this is the derivative of the approximation inp * sigmoid(1.702 inp)",
            hints=("Which function does the forward pass use: erf or sigmoid?",),
        ),
        Misconception(
            "missing-local",
            "inp.g",
            lambda inp, out_g: out_g * ((1 + (inp / 2**0.5).erf()) / 2 + inp * (-(inp**2) / 2).exp()),
            says="the normal density lacks the factor that makes its area 1",
            hints=("How large is your density at 0, and how steeply does Phi rise there?",),
        ),
    ),
)

clamp_grad = Exercise(
    title="Clamping to a range, backwards",
    forward=lambda inp, lo, hi: inp.clamp(lo, hi),
    inputs={
        "inp": taking_turns(*(away_from(bounds, "...") for bounds in _RANGES)),
        "out": output(),
        "lo": each_of(*(lo for lo, _ in _RANGES)),
        "hi": each_of(*(hi for _, hi in _RANGES)),
    },
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge an entry below `lo`, one in between, and one above `hi`. Which of them changes `out`?",
            "The mask of relu has one bound, this one has two. Compare `inp` with each of them.",
            "The mask is 1 where both comparisons hold; note that `and` is for single values, `&` is for tensors.",
        ),
    },
)

maximum_grad = Exercise(
    title="The larger of two, backwards",
    forward=lambda a, b: a.maximum(b),
    inputs={"a": normal("..."), "b": normal("..."), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Nudge an entry of `a` that is the smaller of the two. Does `out` change?",
            "You need a mask. That of relu compares `inp` with 0; with what is `a` compared here?",
            "Pass `out.g` on where `a` is the larger one, and nowhere else.",
        ),
        "b.g": (
            "Where `a` gets no gradient, to which array does `out.g` go?",
            "The mask of `b` is the complement of that of `a`.",
            "Every entry of `out.g` goes to exactly one of the two: pass it on where `b` is the larger one.",
        ),
    },
)

dropout_grad = Exercise(
    title="Dropout, backwards",
    forward=lambda inp, mask, p: inp * mask / (1 - p),
    inputs={"inp": normal("..."), "out": output(), "mask": mask("..."), "p": number(0.1, 0.4)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge an entry that was dropped, and one that was kept. By how much does `out` move in each case?",
            "The mask was drawn in the forward pass; the backward pass uses the very same mask.",
            "A kept entry is scaled in the forward pass, so its gradient is scaled as well: by how much?",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda mask, out_g, p: out_g * mask / 1 - p,
            says="the gradient is divided by 1, and then p is subtracted: division comes before subtraction",
            hints=("Which part must be computed first? Put it in parentheses.",),
        ),
    ),
)
