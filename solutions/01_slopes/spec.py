"""Exercises of unit 01: slopes measured with finite differences."""

from handgrad import Dtype, Function, Misconception, Routine, each_of, normal, number

# Every function bends (so that forward and central differ) and its bend changes (so that the step counts).
_CURVES = each_of(
    Function("lambda x: x**3 - 2*x"),
    Function("lambda x: math.exp(x) + x"),
    Function("lambda x: 1 / (1 + x)"),
    Function("lambda x: math.sin(2*x)"),
)
# The entries are coupled: nudging one of them changes the slope at the others.
_SCALAR_FIELDS = each_of(
    Function("lambda x: (x**3).sum() + (x.sin() * x).sum() + x.sum()**2"),
    Function("lambda x: (x**2).sum() * x.sin().mean() + (x**3).sum()"),
    Function("lambda x: x.exp().sum() + (x**3).mean() * x.sum()"),
    Function("lambda x: (x.cos() * x.sum()).sum() + (x**4).sum()"),
)
_TENSOR_FIELDS = each_of(
    Function("lambda x: x**3 + x * x.sum()"),
    Function("lambda x: x.cumsum(0) * x.sin()"),
    Function("lambda x: x.flip(0)**3 + x.exp()"),
    Function("lambda x: x.exp() * x.mean() + x**4"),
)
# The worst relative error may be this many times the best that any step achieves.
_ALLOWED_FACTOR = 10


def _each_entry(x, h, measure):
    """`measure(step)` once for each entry of `x`, where `step` is h there and 0 elsewhere; shape: that of `x`."""
    measured = x.new_zeros(x.shape)
    for i in range(x.numel()):
        step = x.new_zeros(x.shape)
        step.view(-1)[i] = h
        measured.view(-1)[i] = measure(step)
    return measured


def _central_gradient(f, x, h):
    """The gradient of the scalar function `f` by central differences; shape: that of `x`."""
    return _each_entry(x, h, lambda step: (f(x + step) - f(x - step)) / (2 * h))


def _never_put_back(f, x, h):
    """Central differences in which every entry stays where its second nudge left it, at -h."""
    moving = x.clone()

    def measure(step):
        above = f(moving + step)
        moving.sub_(step)
        return (above - f(moving)) / (2 * h)

    return _each_entry(x, h, measure)


def _forward_mode(f, x, v, h):
    """The Jacobian times `v`, all entries of `x` moved along `v`; shape: that of `f(x)`."""
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


def _own_output_only(f, x, v, h):
    """Each entry's effect on the one output in its own place, times that output's `v`; shape: that of `x`."""
    return _each_entry(x, h, lambda step: ((f(x + step) - f(x - step)) * v * step / h).sum() / (2 * h))


def _worst_relative_error(h, dtype):
    """The worst relative error of a central difference with step `h` in `dtype`, over functions and points."""
    import torch

    points = torch.linspace(0.5, 1.5, 201, dtype=dtype)
    cases = (
        (torch.exp, torch.exp),
        (torch.sin, torch.cos),
        (lambda x: 1 / (x + 1), lambda x: -1 / (x + 1) ** 2),
        (lambda x: x**3 + x, lambda x: 3 * x**2 + 1),
    )
    worst = 0.0
    for f, slope in cases:
        measured = ((f(points + h) - f(points - h)) / (2 * h)).double()
        exact = slope(points.double())
        worst = max(worst, float(((measured - exact) / exact).abs().max()))
    return worst


def _is_good_step(answer, dtype):
    """The step is positive, and its error is near the best that a grid of steps achieves."""
    h = float(answer)
    if not 0 < h < 1:
        return False
    best = min(_worst_relative_error(10 ** (-k / 4), dtype) for k in range(4, 33))
    return _worst_relative_error(h, dtype) <= _ALLOWED_FACTOR * best


def _balanced_step(dtype):
    """The step at which truncation (h squared) and cancellation (eps over h) are equal."""
    import torch

    return torch.finfo(dtype).eps ** (1 / 3)


def _machine_epsilon(dtype):
    import torch

    return torch.finfo(dtype).eps


def _fixed(h):
    """The rule that answers `h` whatever the dtype."""
    return Misconception(
        "imprecise",
        "return",
        lambda dtype: h,
        says=f"the step is {h:g} for both dtypes, which leaves an avoidable error in at least one of them",
        hints=("The two dtypes differ in one number that decides the best step. Where can you ask for it?",),
    )


slope = Routine(
    title="The slope, one step ahead",
    inputs={"f": _CURVES, "x": number(0.5, 1.5), "h": number(0.1, 0.3)},
    reference=lambda f, x, h: (f(x + h) - f(x)) / h,
    hints={
        "return": (
            "Stand at x, take one step ahead. How far did the output move, and how far did you move the input?",
            "You need f at two places: where you stand, and where you are after the step.",
            "A slope is rise per unit of step: put the whole rise in parentheses before you divide.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-point",
            "return",
            lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h),
            says="the value is the central difference, and the forward one is asked for here",
            hints=("Only one of your two points should have moved away from x.",),
        ),
        Misconception(
            "wrong-point",
            "return",
            lambda f, x, h: (f(x) - f(x - h)) / h,
            says="the value is the backward difference: your step goes to the left of x",
            hints=("In which direction does the step go: ahead of x, or back?",),
        ),
        Misconception(
            "wrong-sign",
            "return",
            lambda f, x, h: (f(x) - f(x + h)) / h,
            says="the value has the opposite sign: it is the earlier value minus the later one",
            hints=("When f rises along the step, is your rise positive?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: f(x + h) - f(x),
            says="the value is the rise itself, not yet divided by the step",
            hints=("Halve h and your number halves too. A slope should hardly change.",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, h: (f(x + h) - f(x)) / (2 * h),
            says="the value is half of the slope: it is divided by 2h, though the points are only h apart",
            hints=("How far apart are the two places at which you evaluate f?",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, h: (f(x + h) - f(x)) * h,
            says="the value is the rise multiplied by the step, not divided by it",
            hints=("Halve h: does your number stay about the same?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda f, x, h: f(x + h) - f(x) / h,
            says="only one of the two values is divided by h: division comes before subtraction",
            hints=("What is it that has to be divided: one value of f, or the rise?",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda f, x, h: f(x + h),
            says="the value is the height after the step, not the slope",
            hints=("How far is that above where you started?",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda f, x: f(x),
            says="the value is the height at x, not the slope",
            hints=("A height says where the curve is. By how much does it change along the step?",),
        ),
        Misconception(
            "imprecise",
            "return",
            lambda f, x, h: round((f(x + h) - f(x)) / h, 2),
            says="the value is rounded to two decimals",
            hints=("Round what you print, not what you return.",),
        ),
    ),
)

central_difference = Routine(
    title="The slope, a step to both sides",
    inputs={"f": _CURVES, "x": number(0.5, 1.5), "h": number(0.1, 0.3)},
    reference=lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h),
    hints={
        "return": (
            "A step to one side only is biased by the bend of the curve. How can you treat both sides alike?",
            "Step to the right, step to the left, and compare these two heights; f at x itself is not needed.",
            "Count how far apart the two points are. That distance, in parentheses, stands below the line.",
        ),
    },
    misconceptions=(
        Misconception(
            "imprecise",
            "return",
            lambda f, x, h: (f(x + h) - f(x)) / h,
            says="the value is the forward difference, one step up only",
            hints=("Which of your two points should move to the other side of x?",),
        ),
        Misconception(
            "imprecise",
            "return",
            lambda f, x, h: (f(x) - f(x - h)) / h,
            says="the value is the backward difference, one step down only",
            hints=("Which of your two points should move to the other side of x?",),
        ),
        Misconception(
            "wrong-sign",
            "return",
            lambda f, x, h: (f(x - h) - f(x + h)) / (2 * h),
            says="the value has the opposite sign: it is the left height minus the right one",
            hints=("On a rising curve, which of the two heights is larger?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: f(x + h) - f(x - h),
            says="the value is the rise itself, not yet divided by anything",
            hints=("Halve h and your number halves too. A slope should hardly change.",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: (f(x + h) - f(x - h)) / h,
            says="the value is twice the slope: it is divided by h, though the two points are 2h apart",
            hints=("You took two steps, one to each side. How far is it from one end to the other?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: (f(x + h) - f(x - h)) / 2,
            says="the value is divided by 2 but not by h",
            hints=("Halve h and your number halves too. A slope should hardly change.",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, h: (f(x + h) - f(x - h)) / 2 * h,
            says="the value is divided by 2 and then multiplied by h: Python works from left to right",
            hints=("Where do parentheses belong, so that all of it ends up below the line?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda f, x, h: f(x + h) - f(x - h) / (2 * h),
            says="only one of the two values is divided: division comes before subtraction",
            hints=("What is it that has to be divided: one value of f, or the rise?",),
        ),
    ),
)

numerical_grad = Routine(
    title="The gradient of a function of a tensor",
    inputs={"f": _SCALAR_FIELDS, "x": normal("...", dtype="float64"), "h": number(0.05, 0.2)},
    reference=_central_gradient,
    hints={
        "return": (
            "One slope for each entry of x: nudge that entry, and leave every other one where it is.",
            "Loop over the entries; each takes two calls of f, on a copy of x with that one entry moved.",
            "Use a fresh copy for each nudge, a step up and a step down, and collect into the shape of x.",
        ),
    },
    misconceptions=(
        Misconception(
            "imprecise",
            "return",
            lambda f, x, h: _each_entry(x, h, lambda step: (f(x + step) - f(x)) / h),
            says="every entry is the forward difference, one nudge up only",
            hints=("Take the second value of f a step below the entry, not at it.",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: _each_entry(x, h, lambda step: (f(x + step) - f(x - step)) / h),
            says="every entry is twice the slope: it is divided by h, though the two nudges are 2h apart",
            hints=("How far is it from the entry moved down to the entry moved up?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: _each_entry(x, h, lambda step: f(x + step) - f(x - step)),
            says="every entry is the rise itself, not yet divided by anything",
            hints=("Halve h and your entries halve too. A slope should hardly change.",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, h: _each_entry(x, h, lambda step: (f(x + step) - f(x - step)) / 2 * h),
            says="every entry is divided by 2 and then multiplied by h: Python works from left to right",
            hints=("Where do parentheses belong, so that all of it ends up below the line?",),
        ),
        Misconception(
            "wrong-point",
            "return",
            _never_put_back,
            says="every entry is measured while the entries before it are still moved",
            hints=("What does x look like when you come to the second entry?",),
        ),
        Misconception(
            "broadcast-accident",
            "return",
            lambda f, x, h: x.new_ones(x.shape) * (f(x + h) - f(x - h)) / (2 * h),
            says="every entry is the same number: the step is added to the whole tensor at once",
            hints=("Adding a number to a tensor moves every entry. How do you move a single one?",),
        ),
    ),
)

numerical_vjp = Routine(
    title="A vector-Jacobian product, measured",
    inputs={
        "f": _TENSOR_FIELDS,
        "x": normal("...", dtype="float64"),
        "v": normal("...", dtype="float64"),
        "h": number(0.05, 0.2),
    },
    reference=lambda f, x, v, h: _central_gradient(lambda at: (f(at) * v).sum(), x, h),
    hints={
        "return": (
            "With v as weights, all outputs become one number. What is the gradient of that number?",
            "You can measure the gradient of any scalar function of x. Name the scalar function you have here.",
            "One nudge of x moves many outputs: weigh each output's move with its own v, then add them up.",
        ),
    },
    misconceptions=(
        Misconception(
            "imprecise",
            "return",
            lambda f, x, v, h: _each_entry(x, h, lambda step: ((f(x + step) - f(x)) * v).sum() / h),
            says="every entry is the forward difference, one nudge up only",
            hints=("Take the second value of f a step below the entry, not at it.",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, v, h: 2 * _central_gradient(lambda at: (f(at) * v).sum(), x, h),
            says="every entry is twice the slope: it is divided by h, though the two nudges are 2h apart",
            hints=("How far is it from the entry moved down to the entry moved up?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, v, h: 2 * h * _central_gradient(lambda at: (f(at) * v).sum(), x, h),
            says="every entry is the rise itself, not yet divided by anything",
            hints=("Halve h and your entries halve too. A slope should hardly change.",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, v, h: h**2 * _central_gradient(lambda at: (f(at) * v).sum(), x, h),
            says="every entry is divided by 2 and then multiplied by h: Python works from left to right",
            hints=("Where do parentheses belong, so that all of it ends up below the line?",),
        ),
        Misconception(
            "missing-upstream",
            "return",
            lambda f, x, v, h: _central_gradient(lambda at: f(at).sum(), x, h),
            says="every entry counts all outputs alike: v is left out",
            hints=("If v were all zeros, what should you return?",),
        ),
        Misconception(
            "mean-for-sum",
            "return",
            lambda f, x, v, h: _central_gradient(lambda at: (f(at) * v).mean(), x, h),
            says="every entry is divided by the number of outputs: they are averaged, not added",
            hints=("How does one output's weight depend on how many others there are?",),
        ),
        Misconception(
            "elementwise-for-matmul",
            "return",
            lambda f, x, v, h: v * _central_gradient(lambda at: f(at).sum(), x, h),
            says="v[i] multiplies what x[i] does to all outputs together",
            hints=("v has one weight for each output, not for each input: use it before the outputs are added.",),
        ),
        Misconception(
            "diagonal-only",
            "return",
            _own_output_only,
            says="every entry follows only the output in its own place",
            hints=("When x[i] is nudged, which outputs move? Print f before and after.",),
        ),
        Misconception(
            "elementwise-for-matmul",
            "return",
            lambda f, x, v, h: v * (f(x + h) - f(x - h)) / (2 * h),
            says="all entries of x are nudged at once, and v multiplies what each output did",
            hints=("Which single entry of x is each number of your answer about?",),
        ),
        Misconception(
            "transposed",
            "return",
            _forward_mode,
            says="the Jacobian is multiplied from the wrong side: you moved x along v",
            hints=("Does v have one number for each input, or one for each output?",),
        ),
        Misconception(
            "sum-of-products",
            "return",
            lambda f, x, v, h: v.sum() * _central_gradient(lambda at: f(at).sum(), x, h),
            says="the outputs and v are each summed on their own, and then multiplied",
            hints=("Each output has its own weight: pair them first, and add afterwards.",),
        ),
        Misconception(
            "extra-factor",
            "return",
            lambda f, x, v, h: _central_gradient(lambda at: (f(at) * v * v).sum(), x, h),
            says="every output is weighted with v twice",
            hints=("Where does v come into your formula, and how often?",),
        ),
        Misconception(
            "value-for-gradient",
            "return",
            lambda f, x, v, h: _central_gradient(lambda at: (f(at) * f(x)).sum(), x, h),
            says="every output is weighted with its own value, where v belongs",
            hints=("Which argument of yours has not been used?",),
        ),
    ),
)

pick_h = Routine(
    title="A good step",
    inputs={"dtype": each_of(Dtype("float32"), Dtype("float64"))},
    reference=_balanced_step,
    accepts=_is_good_step,
    hints={
        "return": (
            "Two errors pull in opposite directions. Which of them grows when h shrinks?",
            "At the best step both errors are about equal; each is a power of h, one with eps in it.",
            "torch.finfo knows the eps of a dtype. Solve the balance for h; it is not the square root.",
        ),
    },
    misconceptions=(
        Misconception(
            "imprecise",
            "return",
            lambda dtype: _machine_epsilon(dtype) ** 0.5,
            says="the step is the square root of eps, the balance for a forward difference",
            hints=("For a central difference, with which power of h does the truncation error shrink?",),
        ),
        Misconception(
            "imprecise",
            "return",
            _machine_epsilon,
            says="the step is eps itself, so small that cancellation leaves no digits",
            hints=("With h as small as eps, how many digits do f(x + h) and f(x - h) not share?",),
        ),
        *(_fixed(10.0**-k) for k in range(1, 13)),
    ),
)
