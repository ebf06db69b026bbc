"""Exercises of unit 05: activations, entry by entry."""

import math

from handgrad import Exercise, Misconception, away_from, each_of, mask, normal, number, output, stored, taking_turns

# lo and hi for each trial: of either sign, so that no mask made from 0 or from |inp| fits.
_RANGES = ((-0.75, 0.5), (0.25, 1.5), (-2.0, -0.5), (-0.5, 1.75))

relu_grad = Exercise(
    title="ReLU, backwards",
    forward=lambda inp: inp.clamp_min(0),
    inputs={"inp": away_from(0.0, "..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge a positive entry, then a negative one. Which of the two moves out?",
            "The local derivative is a mask: some gates are open and pass out.g on, the others block it.",
            "Make the mask from inp, never from the sign of out.g, and multiply; write into no tensor you were given.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "inp.g",
            lambda inp, out_g: out_g.clamp_min(0) * (inp > 0),
            says="negative entries of out.g are blocked as well, though their gate is open",
            hints=("May a loss react to an output at a negative rate?",),
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
            "Two steps. By how much does the second one, the shift, change a nudge that comes through?",
            "The gates are those of relu. Which of the two tensors still tells open from closed?",
            "Take inp = 0.3: is its gate open, and what is the sign of out there?",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, out_g: out_g * (inp > 0) - 0.5,
            says="the 0.5 is subtracted from every gradient as well",
            hints=(
                "If out.g were zero everywhere, what would your answer be?",
                "A constant moves the output once and for all. Does it move when you nudge inp?",
            ),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, out_g: out_g * ((inp > 0) * 1.0 - 0.5),
            says="the 0.5 is subtracted from the slope as well",
            hints=("What is the slope of a line, and what is it after you shift the line down?",),
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
            "Nudge a positive entry and a negative one. By how much does out move in either case?",
            "Relu had two local derivatives, 1 and 0. Which of them is another one here?",
            "Choose between two factors, entry by entry, by the sign of inp.",
        ),
    },
)

sigmoid_grad = Exercise(
    title="Sigmoid, backwards",
    forward=lambda inp: inp.sigmoid(),
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Where is the S-curve steepest, and how steep is it far out on either side?",
            "The slope can be read from the height: a product of two numbers that add up to 1.",
            "One of the two is out itself, the other what is missing to 1; the loss's reaction multiplies them.",
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
            "Tanh goes from -1 to 1. What is its slope in the middle, and what is it near the ends?",
            "The slope can be read from out: it is 1 where out is 0, and it vanishes where out is 1 or -1.",
            "Both ends lose alike, so the sign of out cannot matter. Which power forgets a sign?",
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
            "Far to the left it is flat, far to the right it is a line. Which curve goes from 0 to 1 like its slope?",
            "Exponential, sum, logarithm: multiply the factors, and look at what you get.",
            "You have met that quotient of exponentials: it squashes any number into a probability.",
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
            "Underline every inp in the forward pass. How many paths lead to out?",
            "It is a product: hold one factor while the other moves, then the other way round, and add.",
            "Compute the gate from inp first, and use its slope from sigmoid_grad; note that out is not the gate.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda out, out_g: out_g * out * (1 - out),
            says="this is the slope of sigmoid, with out as if it were the gate",
            hints=(
                "Is out between 0 and 1, as a sigmoid is? Compute the gate from inp.",
                "inp is also a factor of its own: how many paths are there?",
            ),
        ),
    ),
)


def _slope_of_tanh_approximation(inp, out_g):
    """Of `inp * (1 + tanh(k * (inp + 0.044715 * inp**3))) / 2`, where k is the root of 2 / pi."""
    k = (2 / math.pi) ** 0.5
    bent = (k * (inp + 0.044715 * inp**3)).tanh()
    return out_g * (1 + bent + inp * (1 - bent**2) * k * (1 + 3 * 0.044715 * inp**2)) / 2


def _slope_of_sigmoid_approximation(inp, out_g):
    """Of `inp * sigmoid(1.702 * inp)`."""
    gate = (1.702 * inp).sigmoid()
    return out_g * (gate + 1.702 * inp * gate * (1 - gate))


gelu_grad = Exercise(
    title="GELU, backwards",
    forward=lambda inp: inp * (1 + (inp / 2**0.5).erf()) / 2,
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Underline every inp in the forward pass. How many paths lead to out?",
            "A product again, of inp and Phi(inp). Phi is the area under the bell curve, up to inp: what is its slope?",
            "The slope of an area is the height of its edge: the bell curve itself, with its factor in front.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            _slope_of_tanh_approximation,
            says="this is the slope of the tanh approximation, close to that of the exact GELU but not the same",
            hints=("Which function did the forward pass compute: erf or tanh?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            _slope_of_sigmoid_approximation,
            says="this is the slope of the approximation inp * sigmoid(1.702 inp)",
            hints=("Which function did the forward pass compute: erf or sigmoid?",),
        ),
        Misconception(
            "missing-local",
            "inp.g",
            lambda inp, out_g: out_g * ((1 + (inp / 2**0.5).erf()) / 2 + inp * (-(inp**2) / 2).exp()),
            says="the bell curve lacks the factor that makes its area 1",
            hints=("How high is your bell in the middle, and how steeply does Phi rise there?",),
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
            "Nudge an entry below lo, one in between, and one above hi. Which of them moves out?",
            "Relu's mask had one edge, this one has two. Compare inp with each of them.",
            "An entry counts if both comparisons hold; mind that `and` is for single values, & is for tensors.",
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
            "Nudge an entry of a that is the smaller of the two. Does out notice?",
            "You need a mask. Relu's compared inp with 0; what is a compared with here?",
            "out.g goes through where a is the larger one, and nowhere else.",
        ),
        "b.g": (
            "Where a hears nothing, who does?",
            "The mask of b is the other way round.",
            "Every entry of out.g goes to one of the two.",
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
            "Nudge an entry that was dropped, and one that was kept. By how much does out move in each case?",
            "The mask was drawn on the way forward; the way back goes through the very same gates.",
            "A kept entry was scaled on the way forward. A nudge of it was scaled as well: by how much?",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda mask, out_g, p: out_g * mask / 1 - p,
            says="it is divided by 1, and then p is subtracted: division comes before subtraction",
            hints=("Which part must be worked out first? Say so with parentheses.",),
        ),
    ),
)
