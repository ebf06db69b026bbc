"""Exercises of unit 02: one factor for each step, multiplied along a path and added over paths."""

from handgrad import Exercise, Misconception, away_from, each_of, normal, number, output, positive, returned, stored

dy_dx = Exercise(
    title="The factor of y = x + 2",
    forward=lambda x: x + 2,
    inputs={"x": normal("...")},
    answers=returned("x"),
    hints={
        "return": (
            "Raise one entry of x by 0.001. By how much does the same entry of y rise?",
            "Does the 2 change how far y moves, or only where y starts from?",
            "Every entry has the same factor, whatever x is: return a tensor of them, shaped like x.",
        ),
    },
    misconceptions=(
        Misconception(
            "hard-coded",
            "return",
            lambda x: 0 * x + 2,
            says="every entry is 2, the constant that was added",
            hints=("Put 100 in place of 2: does y react to x more strongly?",),
        ),
        Misconception(
            "hard-coded",
            "return",
            lambda x: 0 * x,
            says="every entry is 0, as if y did not react to x",
            hints=("The constant does not move, but x is there as well.",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda out: out,
            says="every entry is y itself, not how y reacts to x",
            hints=("Is the answer larger where y is larger? Nudge a large entry and a small one.",),
        ),
    ),
)

dz_dy = Exercise(
    title="The factor of z = 3y²",
    forward=lambda y: 3 * y**2,
    inputs={"y": normal("...")},
    answers=returned("y"),
    hints={
        "return": (
            "Is the slope of a parabola the same everywhere, or does it depend on y?",
            "Use the rule for a power, and remember that the 3 in front stays.",
            "The exponent comes down as a factor and drops by one; it meets the 3 that is already there.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-point",
            "return",
            lambda y: 6 * (y + 2),
            says="the derivative is taken at y + 2: y already is x + 2",
            hints=("Which value is y here: before or after the 2 was added?",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda out: out,
            says="every entry is z itself, not how z reacts to y",
            hints=("Nudge y by 0.001 and divide the change of z by 0.001. Is that z?",),
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
            hints=("The lesson's y was 3. What is it here?",),
        ),
    ),
)

dout_dz = Exercise(
    title="The factor of the mean",
    forward=lambda z: z.mean(),
    inputs={"z": normal("...")},
    answers=returned("z"),
    hints={
        "return": (
            "Raise one entry of four by 0.001. By how much does the mean rise?",
            "Each entry has the same share in the mean, whatever its value.",
            "Ask z how many entries it has, over all of its axes, and fill a tensor of its shape.",
        ),
    },
    misconceptions=(
        Misconception(
            "hard-coded",
            "return",
            lambda z: 0 * z + 1 / 4,
            says="every entry is 1/4, however many entries z has",
            hints=("The lesson's example had four entries. How many does this z have?",),
        ),
        Misconception(
            "extra-factor",
            "return",
            lambda z: z / z.numel(),
            says="every entry is what that entry adds to the mean, not how the mean reacts to it",
            hints=("Does a large entry have more influence on the mean than a small one, nudge for nudge?",),
        ),
        Misconception(
            "shape-special",
            "return",
            lambda z: 0 * z + 1 / len(z),
            says="every entry is one over the length of the first axis only",
            hints=("The mean runs over every axis. How many entries is that?",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda z: 0 * z + z.mean(),
            says="every entry is the mean itself, not how the mean reacts",
            hints=("Add 100 to all entries: the mean changes. Does its reaction to a nudge?",),
        ),
    ),
)

dout_dx = Exercise(
    title="The whole chain, from x to out",
    forward=lambda x: (3 * (x + 2) ** 2).mean(),
    inputs={"x": normal("...")},
    answers=returned("x"),
    hints={
        "return": (
            "Name the three steps between x and out. You have the factor of each one.",
            "Along a path the factors multiply. At which value is the middle factor taken?",
            "The middle factor wants y, so compute y from x first; the mean contributes one share per entry.",
        ),
    },
    misconceptions=(
        Misconception(
            "hard-coded",
            "return",
            lambda x: 6 * (x + 2) / 4,
            says="every entry is right for four entries, and x has another number of them",
            hints=("Where does the number of entries come into your formula?",),
        ),
        Misconception(
            "hard-coded",
            "return",
            lambda x: 0 * x + 4.5,
            says="every entry is 4.5, the answer at x = 1 with four entries",
            hints=("4.5 belongs to one x. Which of its factors changes with x?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda x: 1 + 6 * (x + 2) + 1 / x.numel(),
            says="the three factors are added up",
            hints=("Factors along one path: do they add or multiply?",),
        ),
    ),
)

dloss_dx = Exercise(
    title="One step more: a loss with a target",
    forward=lambda x, target: ((3 * (x + 2) ** 2).mean() - target) ** 2,
    # The target stays below anything out can be: their difference is never lost to rounding.
    inputs={"x": normal("..."), "target": number(-6.0, -1.0)},
    answers=returned("x"),
    hints={
        "return": (
            "The chain from x to out is the one you have already. Which step was put behind it?",
            "The new step is a square: how does it react to out, and what does that depend on?",
            "Compute out on the way; the new factor is one number, and it multiplies the whole old chain.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-operand",
            "return",
            lambda x, target: 2 * (x - target) * 6 * (x + 2) / x.numel(),
            says="x stands where out belongs: the loss compares out with the target",
            hints=("Which two numbers does the loss compare?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda x, target: 2 * (3 * (x + 2) ** 2 - target) * 6 * (x + 2) / x.numel(),
            says="the target is subtracted from every entry of z, and not from their mean",
            hints=("What does the forward pass subtract the target from: z, or out?",),
        ),
        Misconception(
            "missing-upstream",
            "return",
            lambda x: 6 * (x + 2) / x.numel(),
            says="the chain stops at out: how the loss reacts to out is missing",
            hints=("Which step comes after out, and does your answer depend on the target?",),
        ),
        Misconception(
            "hard-coded",
            "return",
            lambda x, target: 2 * ((3 * (x + 2) ** 2).mean() - target) * 6 * (x + 2) / 4,
            says="every entry is right for four entries, and x has another number of them",
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
            "Two factors for each entry: what arrives from above, and the local derivative.",
            "The local derivative of a power is another power, with a factor in front. Both come from k.",
            "Mind the exponent: it is not k any more. And the loss's own reaction is stored on out.",
        ),
    },
)

sqrt_grad = Exercise(
    title="A root, backwards",
    forward=lambda inp: inp.sqrt(),
    inputs={"inp": positive("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Is a root steeper near 0 or far out? What must your factor do when inp grows?",
            "A root is the power one half, so pow_grad's rule holds. Which exponent is left?",
            "One half, divided by a number that you have been given already.",
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
            "Two factors for each entry: what arrives from above, and the local derivative.",
            "Which function is its own slope? You need not compute it a second time.",
            "Of the two tensors you were handed, one already holds the local derivative.",
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
            "Two factors for each entry: what arrives from above, and the local derivative.",
            "The larger inp, the flatter its logarithm. Which simple function falls like that?",
            "The local derivative is written with inp, not with out; then the loss's reaction multiplies it.",
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
            "When inp rises a little, does one over inp rise or fall?",
            "Write one over inp as a power, and use the power rule. What is the new exponent?",
            "A factor of -1 comes down, and the exponent moves one further away from zero.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, out_g: 0 * inp - out_g,
            says="the exponent went from -1 to 0: it moved up where the power rule moves it down",
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
            "Hold b still. Then out is a, times something that does not move.",
            "With b = 2, raise a by 0.001 and see how far out moves; try b = 10 as well.",
            "Only b decides the local derivative; the loss's reaction to out multiplies it.",
        ),
        "b.g": (
            "Hold a still and raise b: does the quotient rise or fall (for positive a and b)?",
            "Now out is a times one over b, and you know how one over b reacts.",
            "Check three things: the sign, that a is still a factor, and how often b stands below the line.",
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
            "Hold b still. Which rule is it then?",
            "The exponent comes down and drops by one; here every entry has an exponent of its own.",
            "It is pow_grad with b in the place of k.",
        ),
        "b.g": (
            "Hold a still. 2 ** b doubles when b grows by 1: at what rate does it grow meanwhile?",
            "Write a ** b as a power of e. What stands beside b in the exponent?",
            "As for exp, out itself is one factor; the other is a logarithm.",
        ),
    },
)

two_paths_grad = Exercise(
    title="Two paths: the input is used more than once",
    forward=lambda inp: inp * inp.sin() + inp**2,
    inputs={"inp": normal("..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Underline every use of inp in the forward pass. How many are there?",
            "Work out each use as if the others were constants, then put the contributions together.",
            "The product gives two contributions, the square a third: add them, then bring in out.g.",
        ),
    },
)
