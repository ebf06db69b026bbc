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
    """Return `measure(step)` for each entry of `x`, where `step` is h there and 0 elsewhere; shape: that of `x`."""
    measured = x.new_zeros(x.shape)
    for i in range(x.numel()):
        step = x.new_zeros(x.shape)
        step.view(-1)[i] = h
        measured.view(-1)[i] = measure(step)
    return measured


def _central_gradient(f, x, h):
    """Return the gradient of the scalar function `f` by central differences; shape: that of `x`."""
    return _each_entry(x, h, lambda step: (f(x + step) - f(x - step)) / (2 * h))


def _each_row(f, x, h):
    """Return in each row of `x` the central difference with all entries of this row nudged; shape: that of `x`."""
    measured = x.new_zeros(x.shape)
    for i in range(len(x)):
        step = x.new_zeros(x.shape)
        step[i] = h
        measured[i] = (f(x + step) - f(x - step)) / (2 * h)
    return measured


def _never_put_back(f, x, h):
    """Return central differences in which every entry keeps its second nudge, -h."""
    moving = x.clone()

    def measure(step):
        above = f(moving + step)
        moving.sub_(step)
        return (above - f(moving)) / (2 * h)

    return _each_entry(x, h, measure)


def _forward_mode(f, x, v, h):
    """Return the Jacobian times `v`, with all entries of `x` moved along `v`; shape: that of `f(x)`."""
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


def _own_output_only(f, x, v, h):
    """Return each entry's effect on the output at the same index, times that output's `v`; shape: that of `x`."""
    return _each_entry(x, h, lambda step: ((f(x + step) - f(x - step)) * v * step / h).sum() / (2 * h))


def _worst_relative_error(h, dtype):
    """Return the worst relative error of a central difference with step `h` in `dtype`, over functions and points."""
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
    """Return whether the step is positive and its error near the best that a grid of steps achieves."""
    h = float(answer)
    if not 0 < h < 1:
        return False
    best = min(_worst_relative_error(10 ** (-k / 4), dtype) for k in range(4, 33))
    return _worst_relative_error(h, dtype) <= _ALLOWED_FACTOR * best


def _balanced_step(dtype):
    """Return the step at which truncation (h squared) and cancellation (eps over h) are equal."""
    import torch

    return torch.finfo(dtype).eps ** (1 / 3)


def _machine_epsilon(dtype):
    import torch

    return torch.finfo(dtype).eps


def _step_of_other_dtype(dtype, answer):
    """Return the answer if it is a good step for the other dtype; else an example of such a step."""
    import torch

    other = torch.float32 if dtype == torch.float64 else torch.float64
    return answer if answer is not None and _is_good_step(answer, other) else _balanced_step(other)


def _fixed(h):
    """Return the misconception of using the step `h` whatever the dtype."""
    return Misconception(
        "imprecise",
        "return",
        lambda dtype: h,
        says=f"the step is {h:g} for both dtypes, but the best step is not the same for both",
        hints=("The two dtypes differ in one number that decides the best step. Where can you look it up?",),
    )


slope = Routine(
    title="The slope by a forward difference",
    inputs={"f": _CURVES, "x": number(0.5, 1.5), "h": number(0.1, 0.3)},
    reference=lambda f, x, h: (f(x + h) - f(x)) / h,
    hints={
        "return": (
            "Take one step forward from `x`. By how much does the output change, and by how much the input?",
            "Evaluate `f` at two points: at `x`, and at the point one step ahead.",
            "The slope is the change of `f` per unit of step: put the whole difference in parentheses before you "
            "divide.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-point",
            "return",
            lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h),
            says="the value is the central difference; this exercise asks for the forward difference",
            hints=("Only one of your two points should have moved away from `x`.",),
        ),
        Misconception(
            "wrong-point",
            "return",
            lambda f, x, h: (f(x) - f(x - h)) / h,
            says="the value is the backward difference: the step is taken to the left of x",
            hints=("In which direction does the step go: forward from `x`, or backward?",),
        ),
        Misconception(
            "wrong-sign",
            "return",
            lambda f, x, h: (f(x) - f(x + h)) / h,
            says="the value has the opposite sign: it is f before the step minus f after it",
            hints=("When `f` rises along the step, is your difference positive?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: f(x + h) - f(x),
            says="the value is the change in f itself, not divided by the step",
            hints=("Halve `h` and your number halves too. A slope should hardly change.",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, h: (f(x + h) - f(x)) / (2 * h),
            says="the value is half of the slope: the difference is divided by 2h, though the points are only h apart",
            hints=("How far apart are the two points at which you evaluate `f`?",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, h: (f(x + h) - f(x)) * h,
            says="the change in f is multiplied by the step; it must be divided by it",
            hints=("Halve `h`: does your number stay about the same?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda f, x, h: f(x + h) - f(x) / h,
            says="only one of the two values is divided by h: division comes before subtraction",
            hints=("What has to be divided: one value of `f`, or the difference of both?",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda f, x, h: f(x + h),
            says="the value is f after the step, not the slope",
            hints=("By how much does that value differ from `f` at `x`?",),
        ),
        Misconception(
            "forward-value",
            "return",
            lambda f, x: f(x),
            says="the value is f at x, not the slope",
            hints=("A value of `f` says how high the curve is. By how much does it change along the step?",),
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
    title="The slope by a central difference",
    inputs={"f": _CURVES, "x": number(0.5, 1.5), "h": number(0.1, 0.3)},
    reference=lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h),
    hints={
        "return": (
            "A step to one side only is biased by the curvature. How can you treat both sides alike?",
            "Evaluate `f` one step to the right of `x` and one step to the left; `f` at `x` itself is not needed.",
            "How far apart are the two points? That distance, in parentheses, is the denominator.",
        ),
    },
    misconceptions=(
        Misconception(
            "imprecise",
            "return",
            lambda f, x, h: (f(x + h) - f(x)) / h,
            says="this is the forward difference: it steps up only, and must also step down",
            hints=(
                "Draw the two points at which you evaluate `f`. On which side of `x` is there none?",
                "Which of your two points should move to the other side of `x`?",
                "How far apart are the two points then? That distance is what you divide by.",
            ),
        ),
        Misconception(
            "imprecise",
            "return",
            lambda f, x, h: (f(x) - f(x - h)) / h,
            says="this is the backward difference: it steps down only, and must also step up",
            hints=(
                "Draw the two points at which you evaluate `f`. On which side of `x` is there none?",
                "Which of your two points should move to the other side of `x`?",
                "How far apart are the two points then? That distance is what you divide by.",
            ),
        ),
        Misconception(
            "wrong-sign",
            "return",
            lambda f, x, h: (f(x - h) - f(x + h)) / (2 * h),
            says="the result has the wrong sign: f(x + h) is subtracted from f(x - h)",
            hints=("On a rising curve, which of the two values is larger?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: f(x + h) - f(x - h),
            says="the value is the difference itself, not divided by anything",
            hints=("Halve `h` and your number halves too. A slope should hardly change.",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: (f(x + h) - f(x - h)) / h,
            says="the value is twice the slope: x - h and x + h are 2h apart, but the change of f between them is"
            " divided by h alone",
            hints=("How far apart are x - h and x + h? By what does your code divide the change of f between them?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: (f(x + h) - f(x - h)) / 2,
            says="the value is divided by 2 but not by h",
            hints=("Halve `h` and your number halves too. A slope should hardly change.",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, h: (f(x + h) - f(x - h)) / 2 * h,
            says="the value is divided by 2 and then multiplied by h: Python works from left to right",
            hints=("Where do parentheses belong, so that the whole distance is in the denominator?",),
        ),
        Misconception(
            "wrong-operand",
            "return",
            lambda f, x, h: f(x + h) - f(x - h) / (2 * h),
            says="only one of the two values is divided: division comes before subtraction",
            hints=("What has to be divided: one value of `f`, or the difference of both?",),
        ),
    ),
)

numerical_grad = Routine(
    title="The gradient of a function of a tensor",
    inputs={"f": _SCALAR_FIELDS, "x": normal("...", dtype="float64"), "h": number(0.05, 0.2)},
    reference=_central_gradient,
    hints={
        "return": (
            "If you nudge a single entry of `x` and hold the others fixed, which entry of the gradient do you measure?",
            "Loop over the entries; each needs two calls of `f`, on copies of `x` in which only that entry is changed.",
            "Make a fresh copy for each nudge, one up and one down, and store each slope at its entry, in the shape "
            "of `x`.",
        ),
    },
    misconceptions=(
        Misconception(
            "imprecise",
            "return",
            lambda f, x, h: _each_entry(x, h, lambda step: (f(x + step) - f(x)) / h),
            says="every entry is a forward difference: it is nudged up only, and must also be nudged down",
            hints=("For the second value of `f`, the entry must be one step lower, not unchanged.",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: _each_entry(x, h, lambda step: (f(x + step) - f(x - step)) / h),
            says="every entry is twice the slope: the two points are 2h apart, but the change of f is divided by h",
            hints=("How far apart are the two values of the entry? By what does your code divide the change of f?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, h: _each_entry(x, h, lambda step: f(x + step) - f(x - step)),
            says="every entry is the difference itself, not divided by anything",
            hints=("Halve `h` and your entries halve too. A slope should hardly change.",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, h: _each_entry(x, h, lambda step: (f(x + step) - f(x - step)) / 2 * h),
            says="every entry is divided by 2 and then multiplied by h: Python works from left to right",
            hints=("Where do parentheses belong, so that the whole distance is in the denominator?",),
        ),
        Misconception(
            "shape-special",
            "return",
            _each_row,
            says="all entries of a row `x[i]` are nudged at once; each entry must be nudged alone",
            hints=("If `x` has two axes, what is `x[0]`: one entry, or several?",),
        ),
        Misconception(
            "wrong-point",
            "return",
            _never_put_back,
            says="every entry is measured while the entries before it are still nudged",
            hints=("What does `x` look like when the loop reaches the second entry?",),
        ),
        Misconception(
            "broadcast-accident",
            "return",
            lambda f, x, h: x.new_ones(x.shape) * (f(x + h) - f(x - h)) / (2 * h),
            says="every entry is the same number: the step is added to the whole tensor at once",
            hints=("Adding a number to a tensor changes every entry. How do you change a single one?",),
        ),
    ),
)

numerical_vjp = Routine(
    title="A vector-Jacobian product by finite differences",
    inputs={
        "f": _TENSOR_FIELDS,
        "x": normal("...", dtype="float64"),
        "v": normal("...", dtype="float64"),
        "h": number(0.05, 0.2),
    },
    reference=lambda f, x, v, h: _central_gradient(lambda at: (f(at) * v).sum(), x, h),
    hints={
        "return": (
            "Weight the outputs with `v` and add them up: a single number. What is its gradient?",
            "`numerical_grad` measures the gradient of any scalar function of `x`. Which scalar function do you have "
            "here?",
            "One nudge of `x` changes many outputs: multiply each output's change by its own entry of `v`, then add "
            "them up.",
        ),
    },
    misconceptions=(
        Misconception(
            "imprecise",
            "return",
            lambda f, x, v, h: _each_entry(x, h, lambda step: ((f(x + step) - f(x)) * v).sum() / h),
            says="every entry is a forward difference: it is nudged up only, and must also be nudged down",
            hints=("For the second value of `f`, the entry must be one step lower, not unchanged.",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, v, h: 2 * _central_gradient(lambda at: (f(at) * v).sum(), x, h),
            says="every entry is twice the slope: the two points are 2h apart, but the change of f is divided by h",
            hints=("How far apart are the two values of the entry? By what does your code divide the change of f?",),
        ),
        Misconception(
            "missing-local",
            "return",
            lambda f, x, v, h: 2 * h * _central_gradient(lambda at: (f(at) * v).sum(), x, h),
            says="every entry is the difference itself, not divided by anything",
            hints=("Halve `h` and your entries halve too. A slope should hardly change.",),
        ),
        Misconception(
            "wrong-factor",
            "return",
            lambda f, x, v, h: h**2 * _central_gradient(lambda at: (f(at) * v).sum(), x, h),
            says="every entry is divided by 2 and then multiplied by h: Python works from left to right",
            hints=("Where do parentheses belong, so that the whole distance is in the denominator?",),
        ),
        Misconception(
            "missing-upstream",
            "return",
            lambda f, x, v, h: _central_gradient(lambda at: f(at).sum(), x, h),
            says="every entry weights all outputs equally: v is missing",
            hints=("If `v` were all zeros, what should you return?",),
        ),
        Misconception(
            "mean-for-sum",
            "return",
            lambda f, x, v, h: _central_gradient(lambda at: (f(at) * v).mean(), x, h),
            says="every entry is divided by the number of outputs: the outputs are averaged; they must be added",
            hints=("Does the weight of one output depend on how many outputs there are?",),
        ),
        Misconception(
            "elementwise-for-matmul",
            "return",
            lambda f, x, v, h: v * _central_gradient(lambda at: f(at).sum(), x, h),
            says="v[i] multiplies the effect of x[i] on the sum of all outputs",
            hints=(
                "`v` has one weight for each output, not for each input: multiply by it before the outputs are added.",
            ),
        ),
        Misconception(
            "diagonal-only",
            "return",
            _own_output_only,
            says="every entry uses only the output at the same index",
            hints=("When `x[i]` is nudged, which outputs change? Print `f` before and after the nudge.",),
        ),
        Misconception(
            "elementwise-for-matmul",
            "return",
            lambda f, x, v, h: v * (f(x + h) - f(x - h)) / (2 * h),
            says="all entries of x are nudged at once, and v multiplies the change of each output",
            hints=("To which single entry of `x` does each number of your answer belong?",),
        ),
        Misconception(
            "transposed",
            "return",
            _forward_mode,
            says="the Jacobian is multiplied from the wrong side: x is moved along v",
            hints=("Does `v` have one number for each input, or one for each output?",),
        ),
        Misconception(
            "sum-of-products",
            "return",
            lambda f, x, v, h: v.sum() * _central_gradient(lambda at: f(at).sum(), x, h),
            says="the outputs and v are summed separately, and then multiplied",
            hints=("Each output has its own weight: multiply first, and add afterwards.",),
        ),
        Misconception(
            "extra-factor",
            "return",
            lambda f, x, v, h: _central_gradient(lambda at: (f(at) * v * v).sum(), x, h),
            says="every output is weighted by v twice",
            hints=("Where does `v` appear in your formula, and how many times?",),
        ),
        Misconception(
            "value-for-gradient",
            "return",
            lambda f, x, v, h: _central_gradient(lambda at: (f(at) * f(x)).sum(), x, h),
            says="every output is weighted by its own value in place of v",
            hints=("Which of your arguments is never used?",),
        ),
    ),
)

pick_h = Routine(
    title="A good step for a central difference",
    inputs={"dtype": each_of(Dtype("float32"), Dtype("float64"))},
    reference=_balanced_step,
    accepts=_is_good_step,
    hints={
        "return": (
            "There are two errors, truncation and cancellation. Which of them grows when `h` shrinks?",
            "At the best step both errors are about equal; each is a power of `h`, and one of them contains `eps`.",
            "`torch.finfo` knows the `eps` of a dtype. Set the two errors equal and solve for `h`; the answer is not "
            "the square root of `eps`.",
        ),
    },
    misconceptions=(
        Misconception(
            "imprecise",
            "return",
            lambda dtype: _machine_epsilon(dtype) ** 0.5,
            says="the step is the square root of eps, which is the best step for a forward difference",
            hints=("In a central difference, with which power of `h` does the truncation error shrink?",),
        ),
        Misconception(
            "imprecise",
            "return",
            _machine_epsilon,
            says="the step is eps itself, so small that cancellation leaves no digits",
            hints=("With `h` as small as `eps`, in how many digits do `f(x + h)` and `f(x - h)` differ?",),
        ),
        *(_fixed(10.0**-k) for k in range(1, 13)),
        Misconception(
            "imprecise",
            "return",
            _step_of_other_dtype,
            says="the steps of the two dtypes are swapped",
            hints=("Which dtype has the larger `eps`? Does it need the larger step or the smaller one?",),
        ),
    ),
)
