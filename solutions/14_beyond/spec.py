"""Exercises of unit 14: more than reverse mode."""

from handgrad import (
    Exercise,
    ForwardMode,
    Function,
    InSteps,
    Misconception,
    Routine,
    Sampler,
    away_from,
    each_of,
    in_steps,
    mask,
    normal,
    number,
    output,
    returned,
    stored,
    uniform,
    weights,
)

# The large summands have no derivative: whoever measures loses digits to them, a dual number does not. No two kinds of
# operations are in the same of these functions: where an answer is wrong tells which of them is.
_FIELDS = each_of(
    Function("lambda x: 4000000 + x[0] + x.sin() * 2 - 3 / x"),
    Function("lambda x: 1 + x.cos() / x + 2 * x.sum() * x - 5000000"),
    Function("lambda x: (9000000 - x**3) / 4 + x.exp() * 3 - x.sum() * x"),
    Function("lambda x: x[0] / x.exp() + x.cos() / 3 + x.sum() + 7000000"),
    Function("lambda x: x.exp() * x.cos() - (-x).sin() + x - x**4 - 6000000"),
)
_WIDE_FIELDS = each_of(
    Function("lambda x: 4000000 + x[1:] * x[:-1] + 3 * x[0].sin()"),
    Function("lambda x: x.exp() * x[0] - 2 / x + x.sum() * x[1] + 5000000"),
    Function("lambda x: (x**2).sum() / x[1:] + x[:-1] ** 3 + 6000000"),
)
_VJPS = each_of(
    Function("lambda x, u: sum(u[i] * (i + 1) * ((i + 1) * x).cos() for i in range(len(u)))"),
    Function("lambda x, u: u.sum() * x.exp() + u[0] * x**2 - u[-1] * x.flip(0)"),
)


def _points(rng, _setting, shape):
    """Float64 entries between 0.5 and 1.5, with all their digits."""
    return rng.uniform(0.5, 1.5, shape)


def _outputs(_rng, setting, _shape):
    """How many outputs there are: more than inputs, fewer, as many; two or more."""
    return max(2, setting.sizes["n"] + (2, -1, 3, 0, 1)[setting.index % 5])


# --- dual numbers ------------------------------------------------------------------------------------------------


def _jacobian(f, x):
    """The Jacobian of `f` at `x`; shape: (m, n)."""
    import torch

    return torch.autograd.functional.jacobian(f, x)


def _rows(vjp, x, m):
    """Every row of the Jacobian; shape: (m, n)."""
    import torch

    return torch.stack([vjp(x, u) for u in torch.eye(m, dtype=x.dtype)])


def _from(table, begin, end):
    """The rows from `begin` to `end`, zeros elsewhere; shape: that of `table`."""
    kept = table.new_zeros(table.shape)
    kept[begin:end] = table[begin:end]
    return kept


_TINY = 1e-25  # an imaginary part so small that its square is lost moves as a tangent does
_BOTH = ("add", "sub", "mul", "div")  # an operand of theirs may be a plain number
# What the tangent of an operation becomes, from values a, b and tangents da, db; n is a plain number.
_WRONG_RULES = (
    ("mul", lambda a, da, b, db: da * b, "missing-path", "of a product only the first factor's tangent is followed"),
    ("mul", lambda a, da, b, db: a * db, "missing-path", "of a product only the second factor's tangent is followed"),
    ("mul", lambda a, da, b, db: da * db, "wrong-local", "the tangents of a product's factors are multiplied"),
    ("mul", lambda a, da, b, db: da * a + b * db, "wrong-operand",
     "in a product each tangent is multiplied by its own factor, and must be by the other one"),
    ("mul", lambda a, da, b, db: da + db, "missing-local", "the tangents of a product's factors are added as in a sum"),
    ("mul", lambda a, da, b, db: da * b - a * db, "wrong-sign", "the two terms of the product rule are subtracted"),
    ("mul", lambda a, da, b, db: da * b + a * db + da * db, "extra-factor",
     "a product keeps the product of the two tangents, which must be dropped"),
    ("div", lambda a, da, b, db: (da * b + a * db) / b**2, "wrong-sign",
     "in a quotient the denominator's term has the wrong sign"),
    ("div", lambda a, da, b, db: (a * db - da * b) / b**2, "wrong-sign",
     "in a quotient both terms have the wrong sign: the numerator's tangent comes first"),
    ("div", lambda a, da, b, db: (da * b - a * db) / b, "wrong-local",
     "in a quotient it is divided by the denominator, and must be by its square"),
    ("div", lambda a, da, b, db: da * b - a * db, "missing-local",
     "in a quotient the division by the square of the denominator is missing"),
    ("div", lambda a, da, b, db: da / b, "missing-path", "of a quotient only the numerator's tangent is followed"),
    ("div", lambda a, da, b, db: 0 * da - a * db / b**2, "missing-path",
     "of a quotient only the denominator's tangent is followed"),
    ("div", lambda a, da, b, db: (da * b - a * db) / a**2, "wrong-operand",
     "in a quotient it is divided by the square of the numerator, and must be by that of the denominator"),
    ("div", lambda a, da, b, db: da / b + a * db, "wrong-local", "the quotient's rule is that of a product"),
    ("div", lambda a, da, b, db: da / b - db / b**2, "wrong-operand",
     "in a quotient the numerator itself is missing beside the denominator's tangent"),
    ("div", lambda a, da, b, db: da / b - a * db / b, "wrong-local",
     "in a quotient the denominator is not squared beside its own tangent"),
    ("mul", lambda a, da, b, db: (da * b + a * db) / 2, "wrong-factor", "the product rule is divided by 2"),
    ("add", lambda a, da, b, db: da + 0 * db, "missing-path", "of a sum only the first tangent is followed"),
    ("add", lambda a, da, b, db: 0 * da + db, "missing-path", "of a sum only the second tangent is followed"),
    ("add", lambda a, da, b, db: (da + db) / 2, "wrong-factor", "in a sum the tangents are averaged"),
    ("add", lambda a, da, b, db: da * b + a * db, "wrong-local", "the rule of a sum is that of a product"),
    ("sub", lambda a, da, b, db: da + db, "wrong-sign", "in a difference the tangents are added"),
    ("sub", lambda a, da, b, db: db - da, "wrong-sign", "in a difference the first tangent is taken from the second"),
    ("sub", lambda a, da, b, db: da + 0 * db, "missing-path", "of a difference only the first tangent is followed"),
    ("rsub", lambda a, da, b, db: db, "wrong-sign", "in 2 - x the tangent keeps its sign"),
    ("rdiv", lambda a, da, b, db: a * db / b**2, "wrong-sign", "in 3 / x the minus is missing"),
    ("rdiv", lambda a, da, b, db: -db / b**2, "missing-local", "in 3 / x the 3 is missing beside the tangent"),
    ("rdiv", lambda a, da, b, db: -a * db / b, "wrong-local", "in 3 / x the denominator is not squared"),
    ("rdiv", lambda a, da, b, db: a * db, "wrong-local", "in 3 / x the tangent is that of 3 * x"),
    ("rdiv", lambda a, da, b, db: a / db, "wrong-local", "in 3 / x the 3 is divided by the tangent"),
    ("mul number", lambda a, da, b, db: da + db, "missing-local", "in 2 * x the tangent is not multiplied by the 2"),
    ("div number", lambda a, da, b, db: da, "missing-local", "in x / 2 the tangent is not divided by the 2"),
    ("div number", lambda a, da, b, db: da * b, "wrong-local", "in x / 2 the tangent is multiplied by the 2"),
    ("pow", lambda a, da, n: a ** (n - 1) * da, "missing-local", "in a power the exponent is missing as a factor"),
    ("pow", lambda a, da, n: n * a**n * da, "wrong-local", "in a power the exponent is not lowered by one"),
    ("pow", lambda a, da, n: n * a ** (n - 1), "missing-upstream", "in a power the tangent that comes in is missing"),
    ("pow", lambda a, da, n: da**n, "wrong-local", "in a power the tangent is raised to the power, as the value is"),
    ("pow", lambda a, da, n: n * da ** (n - 1), "wrong-point", "in a power the derivative is taken at the tangent"),
    ("pow", lambda a, da, n: (n - 1) * a ** (n - 1) * da, "wrong-local",
     "in a power the lowered exponent is the factor, and must be the exponent itself"),
    ("pow", lambda a, da, n: n * a ** (n - 2) * da, "wrong-local", "in a power the exponent is lowered twice"),
    ("pow", lambda a, da, n: a**n * da, "wrong-local", "the power is used in place of its derivative"),
    ("neg", lambda a, da: da, "wrong-sign", "in -x the tangent keeps its sign"),
    ("sin", lambda a, da: -a.cos() * da, "wrong-sign", "the derivative of sin has a minus: it is cos itself"),
    ("sin", lambda a, da: a.sin() * da, "wrong-local", "sin is used in place of its own derivative"),
    ("sin", lambda a, da: a.cos(), "missing-upstream", "in sin the tangent that comes in is missing"),
    ("sin", lambda a, da: da, "missing-local", "in sin the tangent is handed on without the derivative"),
    ("sin", lambda a, da: da.sin(), "wrong-local", "the sin of the tangent is taken"),
    ("sin", lambda a, da: da.cos(), "wrong-point", "the derivative of sin is taken at the tangent"),
    ("sin", lambda a, da: (a.cos() * da).sin(), "extra-factor", "sin is applied to its tangent once more"),
    ("cos", lambda a, da: a.sin() * da, "wrong-sign", "the minus in the derivative of cos is missing"),
    ("cos", lambda a, da: a.cos() * da, "wrong-local", "cos is used in place of its own derivative"),
    ("cos", lambda a, da: -a.cos() * da, "wrong-local", "minus cos is used in place of the derivative of cos"),
    ("cos", lambda a, da: -a.sin(), "missing-upstream", "in cos the tangent that comes in is missing"),
    ("cos", lambda a, da: da, "missing-local", "in cos the tangent is handed on without the derivative"),
    ("cos", lambda a, da: da.cos(), "wrong-local", "the cos of the tangent is taken"),
    ("cos", lambda a, da: -da.sin(), "wrong-point", "the derivative of cos is taken at the tangent"),
    ("exp", lambda a, da: da, "missing-local", "in exp the tangent is handed on without the derivative"),
    ("exp", lambda a, da: a.exp(), "missing-upstream", "in exp the tangent that comes in is missing"),
    ("exp", lambda a, da: a * (a - 1).exp() * da, "wrong-local", "exp is treated as a power of x"),
    ("exp", lambda a, da: a * a.exp() * da, "extra-factor", "in exp the value itself is one factor too many"),
    ("exp", lambda a, da: da.exp(), "wrong-local", "the exp of the tangent is taken"),
    ("sum", lambda a, da: da, "broadcast-accident", "in sum() the tangent is not summed: it is still as long as x"),
    ("sum", lambda a, da: da.mean(), "mean-for-sum", "in sum() the tangent is averaged"),
    ("sum", lambda a, da: 0 * da.sum(), "missing-path", "sum() is taken as a constant: it has no tangent"),
    ("sum", lambda a, da: 0 * da.sum() + len(da), "missing-upstream",
     "in sum() the number of entries is used in place of the sum of their tangents"),
    ("sum", lambda a, da: a.sum(), "forward-value", "in sum() the sum of the values is used as the tangent"),
    ("getitem", lambda a, da, i: 0 * da[i], "missing-path", "an entry x[i] is taken as a constant: it has no tangent"),
    ("getitem", lambda a, da, i: a[i], "forward-value", "the value of x[i] is used as its tangent"),
    ("getitem", lambda a, da, i: da, "broadcast-accident", "x[i] keeps the whole tangent, and must keep its entry i"),
    ("getitem", lambda a, da, i: 0 * da[i] + 1, "missing-upstream", "the tangent of x[i] is 1: v is lost there"),
)  # fmt: skip
_WRONG_NUMBERS = (
    (lambda a: 1.0, "wrong-local", "a plain number has the tangent 1: it does not move, so that is 0"),
    (float, "forward-value", "a plain number is its own tangent: it does not move"),
)  # fmt: skip

_DUAL_HINTS = {
    "missing-path": ("How many of the operands move with x? Each of them sends something on.",),
    "missing-upstream": ("If v were zeros, what must come out? Look at every rule whether it asks for the tangent.",),
    "wrong-sign": ("Let both operands grow by a little. Does the result grow, or shrink?",),
}


def _inherited(name, rule, code):
    """The rules of dual numbers that write other operations as products and powers, of which one rule is wrong.

    a / b is a * b ** -1, and often -a is a * -1 and a - b is a + b * -1. A plain number in front of a product, or of a
    quotient, is lifted to be the first factor, or becomes the second one.
    """
    if name == "pow":
        quotient = _of_inverse(lambda a, da, b, db: da * b + a * db, rule)
        yield {name: rule, "div values": quotient, "rdiv": quotient}
        if code == "missing-upstream":  # else a number, which has the tangent 0, passes on 0
            yield {name: rule, "div": quotient}
    if name == "mul":
        quotient, second = _of_inverse(rule), lambda a, da, b, db: rule(b, db, a, da)
        yield from ({"mul values": rule, of: quotient} for of in ("div values", "div"))
        negative = {"neg": lambda a, da: rule(a, da, -1, 0.0), "sub": lambda a, da, b, db: da + rule(b, db, -1, 0.0)}
        for numbers in ({}, {"rmul": second}):
            for quotients in ({}, {"div": quotient}, {"div": quotient, "rdiv": _of_inverse(second)}):
                for negatives in ({}, negative):
                    yield {"mul": rule, **numbers, **quotients, **negatives}


def _of_inverse(product, power=lambda a, da, n: n * a ** (n - 1) * da):
    """The rule of a / b that is written as a * b ** -1."""
    return lambda a, da, b, db: product(a, da, 1 / b, power(b, db, -1))


def _by_other_rules(code, says, forward_mode):
    return Misconception(code, "return", forward_mode.push, says, _DUAL_HINTS.get(code, ()))


jvp_dual = Routine(
    title="Forward mode with dual numbers",
    inputs={"f": _FIELDS, "x": Sampler("n", _points, exact=((0.5, 1.0, 1.5),)), "v": normal("n", dtype="float64")},
    reference=lambda f, x, v: f(x + _TINY * 1j * v).imag / _TINY,
    hints={
        "return": (
            "What do you know of a number besides its value, if you know how fast it moves?",
            "A class with two fields. Each operator makes a new one: the value as ever, the tangent by its rule.",
            "Python asks 3 / x of x, in a method whose name begins with r; a plain number does not move.",
        ),
    },
    misconceptions=(
        Misconception("missing-upstream", "return", lambda f, x: _jacobian(f, x).sum(1),
                      says="v is left out: every entry of x moves at the rate 1",
                      hints=("If v were zeros, what should you return?",)),
        Misconception("forward-value", "return", lambda f, x: f(x),
                      says="this is a value of f, such as f(x): the tangent is asked for",
                      hints=("Your dual number has two fields. Which of them do you return?",)),
        Misconception("extra-factor", "return", lambda f, x, v: _jacobian(f, x) @ v * v,
                      says="v multiplies what comes out as well: it is in the tangent of x already",
                      hints=("Double v. What must the answer do?",)),
        Misconception("wrong-operand", "return", lambda f, x, v: _jacobian(f, v) @ x,
                      says="x and v are exchanged: the tangent of x is pushed through f at v",
                      hints=("Which of the two is the place, and which the direction?",)),
        Misconception("wrong-operand", "return", lambda f, x: _jacobian(f, x) @ x,
                      says="x is used as its own tangent, in place of v",
                      hints=("Which tangent does x start with?",)),
        Misconception("transposed", "return", lambda f, x, v: _jacobian(f, x).T @ v,
                      says="the Jacobian is multiplied from the other side, as in reverse mode",
                      hints=("Does v have one number for each input, or one for each output?",)),
        Misconception("diagonal-only", "return", lambda f, x, v: _jacobian(f, x).diagonal() * v,
                      says="every output follows only the entry of x in its own place",
                      hints=("What does x.sum() move with?",)),
        Misconception("elementwise-for-matmul", "return", lambda f, x, v: _jacobian(f, x).sum(1) * v,
                      says="all of x moves at the rate 1, and v multiplies what comes out",
                      hints=("v belongs at the start: it is the tangent that x has before anything is computed.",)),
        Misconception("wrong-operand", "return", ForwardMode(exchanged=("rdiv",)).push,
                      says="3 / x is computed as x / 3, value and tangent",
                      hints=("In the method that Python asks for 3 / x, which of the two is self?",)),
        *(_by_other_rules(code, says, ForwardMode({f"{name}{which}": rule}))
          for name, rule, code, says in _WRONG_RULES for which in (("", " values") if name in _BOTH else ("",))),
        *(_by_other_rules(code, says, ForwardMode(number=number)) for number, code, says in _WRONG_NUMBERS),
        *(_by_other_rules(code, says, ForwardMode(rules)) for name, rule, code, says in _WRONG_RULES
          for rules in _inherited(name, rule, code)),
    ),
)  # fmt: skip

jacobian_by_columns = Routine(
    title="A Jacobian, column by column",
    inputs={"f": _WIDE_FIELDS, "x": Sampler("n", _points, exact=((0.5, 1.0, 1.5),))},
    reference=_jacobian,
    hints={
        "return": (
            "What does a Jacobian make of the direction (0, 1, 0, ...)?",
            "One pass of forward mode for each entry of x, with a tangent that moves this entry alone.",
            "Each pass gives a column, with an entry for every output; columns stand side by side.",
        ),
    },
    misconceptions=(
        Misconception("forward-value", "return", lambda f, x: f(x)[:, None].expand(-1, len(x)),
                      says="every column is f(x), the value: the tangent is asked for",
                      hints=("What does your forward mode give back: value, tangent, or both?",)),
        Misconception("wrong-operand", "return", lambda f, x: _jacobian(f, x) * x,
                      says="every column is multiplied by its entry of x: the direction has x[i] in place of 1",
                      hints=("A direction says which entry moves, at the rate 1, wherever it stands.",)),
        Misconception("broadcast-accident", "return",
                      lambda f, x: _jacobian(f, x).sum(1, keepdim=True).expand(-1, len(x)),
                      says="every column is the same: all entries of x move at once",
                      hints=("How does one entry move while the others stay?",)),
        Misconception("stale-gradient", "return", lambda f, x: _jacobian(f, x).cumsum(1),
                      says="each column has all the ones before it in it: the direction keeps the 1s of earlier turns",
                      hints=("What does your direction look like in the second turn? Begin each with zeros.",)),
        Misconception("wrong-operand", "return", lambda f, x: _jacobian(f, x).flip(1),
                      says="the columns are in the other order: the last entry's comes first",
                      hints=("Which entry of x does the first column belong to?",)),
        Misconception("wrong-operand", "return", lambda f, x: _jacobian(f, x).roll(1, 1),
                      says="every column stands one place too late, and the last one first",
                      hints=("Which entry of x does the first column belong to?",)),
        Misconception("partial-batch", "return", lambda f, x: _from(_jacobian(f, x).t(), 1, None).t(),
                      says="the first column is 0: the first entry of x never moves",
                      hints=("With which entry does your loop begin?",)),
        Misconception("partial-batch", "return", lambda f, x: _from(_jacobian(f, x).t(), 0, -1).t(),
                      says="the last column is 0: the last entry of x never moves",
                      hints=("With which entry does your loop end?",)),
        Misconception("overwritten", "return", lambda f, x: _from(_jacobian(f, x).t(), 0, 1).t(),
                      says="only the first column is there, the others are zeros",
                      hints=("How many turns does your loop make?",)),
        Misconception("overwritten", "return", lambda f, x: _from(_jacobian(f, x).t(), -1, None).t(),
                      says="only the last column is there, the others are zeros",
                      hints=("What becomes of the earlier columns in each turn?",)),
    ),
)  # fmt: skip


jacobian_by_rows = Routine(
    title="A Jacobian, row by row",
    inputs={"vjp": _VJPS, "x": normal("n"), "m": Sampler("", _outputs)},
    reference=_rows,
    hints={
        "return": (
            "What does reverse mode give for the upstream gradient (0, 1, 0, ...)?",
            "One pass for each output, with an upstream gradient that asks for this output alone.",
            "m passes, each of which gives a row with an entry for every input; rows stand below each other.",
        ),
    },
    misconceptions=(
        Misconception("extra-batch-sum", "return", lambda vjp, x, m: vjp(x, x.new_ones(m)).expand(m, -1),
                      says="every row is the sum of all rows: all outputs are asked for at once",
                      hints=("Which upstream gradient asks for one output, and no other?",)),
        Misconception("stale-gradient", "return", lambda vjp, x, m: _rows(vjp, x, m).cumsum(0),
                      says="each row has all the rows before it in it: the upstream gradient keeps the 1s",
                      hints=("What does your upstream gradient look like in the second turn? Begin each with zeros.",)),
        Misconception("wrong-operand", "return", lambda vjp, x, m: _rows(vjp, x, m).flip(0),
                      says="the rows are in the other order: the last output's comes first",
                      hints=("Which output does the first row belong to?",)),
        Misconception("wrong-operand", "return", lambda vjp, x, m: _rows(vjp, x, m).roll(1, 0),
                      says="every row stands one place too low, and the last one first",
                      hints=("Which output does the first row belong to?",)),
        Misconception("wrong-operand", "return", lambda vjp, x, m: _rows(vjp, x, m)[:1].expand(m, -1),
                      says="every row is the first output's",
                      hints=("What must differ from one pass to the next?",)),
        Misconception("wrong-operand", "return", lambda vjp, x, m: _rows(vjp, x, m)[-1:].expand(m, -1),
                      says="every row is the last output's",
                      hints=("Where is a row kept, once it is known?",)),
        Misconception("partial-batch", "return", lambda vjp, x, m: _from(_rows(vjp, x, m), 1, None),
                      says="the first row is 0: the first output is never asked for",
                      hints=("With which output does your loop begin?",)),
        Misconception("partial-batch", "return", lambda vjp, x, m: _from(_rows(vjp, x, m), 0, -1),
                      says="the last row is 0: the last output is never asked for",
                      hints=("With which output does your loop end?",)),
        Misconception("partial-batch", "return", lambda vjp, x, m: _from(_rows(vjp, x, m), 0, len(x)),
                      says="there are only as many rows as x has entries, and 0 below: an output each was wanted",
                      hints=("How many outputs are there, and how many inputs?",)),
        Misconception("reshape-for-transpose", "return", lambda vjp, x, m: _rows(vjp, x, m).reshape(len(x), m).t(),
                      says="the numbers of the rows are cut into columns",
                      hints=("What vjp returns is a row as it is.",)),
        Misconception("extra-factor", "return", lambda vjp, x, m: _rows(vjp, x, m) * x,
                      says="every column is multiplied by its entry of x",
                      hints=("What vjp returns is a row already.",)),
    ),
)  # fmt: skip

# --- gradients of gradients, and of matrices ---------------------------------------------------------------------


def _conditioned(rng, _setting, shape):
    """A matrix with a positive determinant that is easy to invert, neither symmetric nor orthogonal; shape: (n, n)."""
    import numpy as np

    left, right = (np.linalg.qr(rng.standard_normal(shape))[0] for _ in range(2))
    matrix = left * np.linspace(0.6, 1.8, shape[0]) @ right
    matrix[0] *= np.sign(np.linalg.det(matrix))
    return matrix.astype("float32")


def _slope_along(w, x, targ, v):
    """grad @ v, where grad = x.t() @ ((x @ w).sigmoid() - targ) / bs is the gradient of the mean cross-entropy"""
    return (x.t() @ ((x @ w).sigmoid() - targ) / len(x)) @ v


hvp_logistic = Exercise(
    title="A Hessian times a vector, without the Hessian",
    forward=_slope_along,
    inputs={"w": weights("n"), "x": normal("bs n"), "targ": mask("bs"), "v": weights("n")},
    answers=returned("w"),
    never_holds="n n",
    hints={
        "return": (
            "The gradient is a function of w like any other. How fast does it change when w moves along v?",
            "w goes through x @ w and the sigmoid. Now v: what does x @ v say about each example?",
            "From the right to the left: n numbers, then bs, a factor for each, and back to n. No matrix is made.",
        ),
    },
    misconceptions=(
        Misconception("missing-local", "return", lambda w, x, v: x.t() @ (x @ w).sigmoid().mul(x @ v) / len(x),
                      says="the sigmoid's derivative has only its first factor: times 1 - sigmoid is missing",
                      hints=("The derivative of a sigmoid is a product of two factors.",)),
        Misconception("missing-local", "return", lambda w, x, v: x.t() @ (1 - (x @ w).sigmoid()).mul(x @ v) / len(x),
                      says="the sigmoid's derivative has only its second factor: the sigmoid itself is missing",
                      hints=("The derivative of a sigmoid is a product of two factors.",)),
        Misconception("sum-for-mean", "return", lambda w, x, v: len(x) * _curved(w, x, v),
                      says="the division by bs is missing: the loss is a mean over the examples",
                      hints=("Double the batch by repeating each example. May the answer change?",)),
        Misconception("forward-value", "return", lambda w, x, targ: x.t() @ ((x @ w).sigmoid() - targ) / len(x),
                      says="this is the gradient itself, and v is left out",
                      hints=("What is asked for doubles when v doubles.",)),
        Misconception("wrong-point", "return",
                      lambda w, x, targ, v: x.t() @ ((x @ v).sigmoid() - targ) / len(x),
                      says="this is the gradient with v in place of w",
                      hints=("w says where, v says along which direction.",)),
        Misconception("forward-value", "return",
                      lambda w, x, targ, v: (x.t() @ ((x @ w).sigmoid() - targ) / len(x)) * v,
                      says="this is the gradient times v, entry by entry: how the gradient changes is asked for",
                      hints=("Differentiate once more: how does the gradient move when w moves along v?",)),
        Misconception("sum-of-products", "return", lambda w, x, v: x.t() @ (_bend(w, x).mean() * (x @ v)) / len(x),
                      says="the sigmoid's derivative is averaged first: each example has its own factor",
                      hints=("Which of the three factors belong to one example, and are multiplied before the sum?",)),
        Misconception("extra-factor", "return",
                      lambda w, x, targ, v: _curved(w, x, v) + x.t() @ ((x @ w).sigmoid() - targ) / len(x),
                      says="the gradient is added: what is asked for is how it changes",
                      hints=("What is asked for doubles when v doubles.",)),
        Misconception("diagonal-only", "return",
                      lambda w, x, v: (x**2 * _bend(w, x)[:, None]).mean(0) * v,
                      says="only the diagonal of the Hessian is there: each entry of v acts on its own entry alone",
                      hints=("Every entry of w moves all the scores, and they move every entry of the gradient.",)),
        Misconception("extra-factor", "return",
                      lambda w, x, targ, v: x.t() @ (_bend(w, x) * ((x @ w).sigmoid() - targ) * (x @ v)) / len(x),
                      says="the error, sigmoid less targ, is one factor too many: only its derivative belongs there",
                      hints=("targ is a constant. What is left of it when you differentiate the gradient?",)),
        Misconception("wrong-operand", "return", lambda w, x, targ, v: x.t() @ (_bend(w, x) * (x @ v) - targ) / len(x),
                      says="targ is subtracted here as well: it is a constant, and gone from how the gradient changes",
                      hints=("targ is a constant. What is left of it when you differentiate the gradient?",)),
        Misconception("wrong-operand", "return", lambda w, x, v: _curved(w, x, w + v),
                      says="w is added to v, which alone belongs there",
                      hints=("w says where, v says along which direction.",)),
        Misconception("wrong-point", "return",
                      lambda w, x, v: x.t() @ ((x @ (w + v)).sigmoid() - (x @ w).sigmoid()) / len(x),
                      says="this is the gradient at w + v less that at w: a difference, not the derivative",
                      hints=("What is asked for doubles when v doubles.",)),
        Misconception("extra-factor", "return",
                      lambda w, x, targ, v: x.t() @ (((x @ w).sigmoid() - targ) ** 2 * (x @ v)) / len(x),
                      says="the squared error is used in place of the sigmoid's derivative (Fisher's matrix of these "
                      "examples): the two agree only on average",
                      hints=("targ is a constant. What is left of it when you differentiate the gradient?",)),
    ),
)  # fmt: skip


def _bend(w, x):
    """The sigmoid's derivative at each example; shape: (bs,)."""
    p = (x @ w).sigmoid()
    return p * (1 - p)


def _curved(w, x, v):
    """The Hessian times v; shape: (n,)."""
    return x.t() @ (_bend(w, x) * (x @ v)) / len(x)


def _symmetric(matrix):
    """The mean of a matrix and its transpose."""
    return (matrix + matrix.t()) / 2


solve_grad = Exercise(
    title="Solving a linear system, backwards",
    forward=lambda a, b: a.inverse() @ b,
    inputs={"a": Sampler("n n", _conditioned, differentiable=True), "b": normal("n m"), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "a @ out is b, and b does not move with a. If a moves a little, how must out move to keep the product?",
            "So a nudge of a acts as a nudge of b would, of the other sign, and out is its partner. You have b.g.",
            "A column and a row make a matrix: which of the two belongs to the rows of a?",
        ),
        "b.g": (
            "out is a matrix times b. Which matrix, and what is done with it on the way back?",
            "A product goes back with the transpose of its matrix. Here the matrix is an inverse.",
            "You need not invert anything: solve a system once more, with the transpose of a.",
        ),
    },
    misconceptions=(
        Misconception("wrong-operand", "a.g", lambda a, b, out_g: -(a.inverse().t() @ out_g) @ b.t(),
                      says="b is used in place of out: a was multiplied by out, and that gave b",
                      hints=("In a @ out = b, who is the partner of a?",)),
        Misconception("wrong-operand", "a.g", lambda a, out_g: -(a.inverse().t() @ out_g) @ out_g.t(),
                      says="out.g is used in place of out, which a was multiplied by",
                      hints=("In a @ out = b, who is the partner of a?",)),
        Misconception("missing-path", "a.g", lambda out, out_g: -out_g @ out.t(),
                      says="out.g is used as it is: it must go back through the solve first, as it does for b.g",
                      hints=("How far from a is out.g? Look at b.g.",)),
        Misconception("inverse-for-transpose", "b.g", lambda a, out_g: a.t() @ out_g,
                      says="out.g is multiplied by the transpose of a, and must be by the inverse of that",
                      hints=("Write out as a matrix times b. Which matrix?",)),
        Misconception("wrong-operand", "b.g", lambda a, out_g: a @ out_g,
                      says="this is a times out.g, as if b were a @ out's gradient: what makes out of b is the inverse",
                      hints=("Write out as a matrix times b. Which matrix?",)),
        Misconception("inverse-for-transpose", "a.g", lambda a, out, out_g: -(a.t() @ out_g) @ out.t(),
                      says="out.g is multiplied by the transpose of a, and must be by the inverse of that, as for b.g",
                      hints=("Write out as a matrix times b. Which matrix?",)),
        Misconception("elementwise-for-matmul", "b.g", lambda a, out_g: (1 / a).t() @ out_g,
                      says="1 over each entry is used in place of the inverse of the matrix",
                      hints=("Is the inverse of a matrix the matrix of the inverses?",)),
    ),
)  # fmt: skip


def _doubled(matrix):
    """The matrix with all entries off the diagonal doubled."""
    return 2 * matrix - matrix.diagonal().diag()


logdet_grad = Exercise(
    title="The logarithm of a determinant, backwards",
    forward=lambda a: a.det().log(),
    inputs={"a": Sampler("n n", _conditioned, differentiable=True), "out": output()},
    answers=stored("a.g"),
    hints={
        "a.g": (
            "Of a diagonal matrix the determinant is a product. What is its logarithm, and the gradient of that?",
            "For a diagonal matrix you get 1 over each entry. Which matrix is that, made of a?",
            "Off the diagonal it matters which way round it stands: nudge a[0,1] of a small matrix by hand.",
        ),
    },
    misconceptions=(
        Misconception("extra-factor", "a.g", lambda a, out, out_g: out * out_g * a.inverse().t(),
                      says="out itself is one factor too many",
                      hints=("The derivative of a logarithm is 1 over what?",)),
        Misconception("wrong-local", "a.g", lambda a, out_g: out_g * _doubled(a.inverse()),
                      says="off the diagonal it is doubled, as for a symmetric matrix: each entry moves alone here",
                      hints=("Is a[1, 0] the same number as a[0, 1]?",)),
    ),
)  # fmt: skip

inverse_grad = Exercise(
    title="The inverse of a matrix, backwards",
    forward=lambda a: a.inverse(),
    inputs={"a": Sampler("n n", _conditioned, differentiable=True), "out": output()},
    answers=stored("a.g"),
    hints={
        "a.g": (
            "For a single number, what is the derivative of 1 / a, written with out?",
            "a @ out is the identity, which does not move. Nudge both factors, and solve for the nudge of out.",
            "Two factors out, one on each side, and both transposed on the way back; mind the sign.",
        ),
    },
    misconceptions=(
        Misconception("wrong-operand", "a.g", lambda a, out_g: -a.t() @ out_g @ a.t(),
                      says="a is used in place of its inverse, on both sides",
                      hints=("The derivative of 1 / a is -1 / a**2. Which of the two arrays is 1 / a?",)),
    ),
)  # fmt: skip


# --- gradients by agreement, and what is done with them ----------------------------------------------------------


def _sign_straight_through(inp):
    """out = inp.sign(), with the gradient of inp.clamp(-1, 1)"""
    clamped = inp.clamp(-1, 1)
    return clamped + (inp.sign() - clamped).detach()


straight_through_grad = Exercise(
    title="A sign that lets gradients pass",
    forward=_sign_straight_through,
    inputs={"inp": away_from((-1.0, 0.0, 1.0), "..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "What is the derivative of a sign, wherever it has one? Could anything be learned with that?",
            "So another function's gradient is used. Which one, and where is it flat?",
            "Between -1 and 1 the upstream gradient passes as it is. Outside a step away would only lead further away.",
        ),
    },
    misconceptions=(
        Misconception("wrong-local", "inp.g", lambda inp, out_g: 0 * out_g,
                      says="this is the derivative that the sign really has: 0 everywhere",
                      hints=("With that nothing can be learned. What is agreed upon in its place?",)),
        Misconception("not-linear", "inp.g", lambda inp, out_g: out_g.sign() * (inp.abs() < 1),
                      says="only the sign of out.g passes: the sign is taken on the way forward alone",
                      hints=("Double out.g. What must inp.g do?",)),
        Misconception("extra-factor", "inp.g", lambda inp, out, out_g: out_g * out * (inp.abs() < 1),
                      says="out is one factor too many: where inp is negative the gradient changes its sign",
                      hints=("Which way does clamp(-1, 1) go where inp is -0.5: up, or down?",)),
    ),
)  # fmt: skip

_MOMENTUM = in_steps(
    new_m=lambda g, m, beta: beta * m + g,
    new_p=lambda p, new_m, lr: p - lr * new_m,
)
_ADAM = in_steps(
    new_m=lambda g, m, beta1: beta1 * m + (1 - beta1) * g,
    new_v=lambda g, v, beta2: beta2 * v + (1 - beta2) * g**2,
    hat_m=lambda new_m, beta1, t: new_m / (1 - beta1**t),
    hat_v=lambda new_v, beta2, t: new_v / (1 - beta2**t),
    new_p=lambda p, hat_m, hat_v, lr, eps: p - lr * hat_m / (hat_v.sqrt() + eps),
)


def _edited(steps, edits, result, **given):
    """One value of a pass in which some steps are computed otherwise."""
    return InSteps({**steps.rules, **edits}).values(**given)[result]


def _momentum_rule(edits, result):
    return lambda p, g, m, lr, beta: _edited(_MOMENTUM, edits, result, p=p, g=g, m=m, lr=lr, beta=beta)


def _adam_rule(edits, result):
    return lambda p, g, m, v, t, lr, beta1, beta2, eps: _edited(
        _ADAM, edits, result, p=p, g=g, m=m, v=v, t=t, lr=lr, beta1=beta1, beta2=beta2, eps=eps
    )


def _slips(make, results, table):
    """What wrong steps make of the first result, and one alone of its own: code, the steps, what is said, a hint."""
    return tuple(
        Misconception(code, f"return.{place}", make(edits, result), says, hints)
        for code, edits, says, *hints in table
        for place, result in enumerate(results)
        if place == 0 or set(edits) == {result}
    )


def _optimizer_hints(**steps):
    return {f"return.{place}": hints for place, hints in enumerate(steps.values())}


momentum_step = Routine(
    title="A step of gradient descent with momentum",
    inputs={"p": normal("..."), "g": normal("..."), "m": normal("..."), "lr": number(0.5, 2),
            "beta": number(0.5, 0.8)},
    reference=lambda **given: [_MOMENTUM.values(**given)[name] for name in ("new_p", "new_m")],
    returns=2,
    hints=_optimizer_hints(
        p=(
            "Which of the two is made first, the new p or the new m? Which m moves p?",
            "Look at the order of the two lines in the docstring, and at the names on their right sides.",
            "p goes downhill by lr times the m that this step has just made.",
        ),
        m=(
            "How much of the old m is kept, and how much of g comes in?",
            "It is a plain sum here, not an average: the two weights need not add up to 1.",
            "beta belongs to the old m alone.",
        ),
    ),
    misconceptions=(
        *_slips(_momentum_rule, ("new_p", "new_m"), (
            ("wrong-operand", {"new_p": lambda p, m, lr: p - lr * m},
             "p moves with the old m, and must with the new one", "Which of the two is made first?"),
            ("missing-path", {"new_p": lambda p, g, lr: p - lr * g},
             "p moves with g alone: that is plain gradient descent", "What is m kept for?"),
            ("wrong-sign", {"new_p": lambda p, new_m, lr: p + lr * new_m},
             "p moves uphill: the step has the wrong sign", "In which direction does the loss grow?"),
            ("missing-local", {"new_p": lambda p, new_m: p - new_m},
             "lr is missing in the step of p", "What makes a step short or long?"),
            ("wrong-factor", {"new_p": lambda p, new_m, lr, beta: p - lr * beta * new_m},
             "the step of p is multiplied by beta once more", "beta has been used when m was made."),
            ("extra-factor", {"new_p": lambda p, new_m, lr: p - lr * lr * new_m},
             "the step of p is multiplied by lr twice", "lr is used once, where p moves."),
            ("wrong-operand", {"new_p": lambda p, g, new_m, lr, beta: p - lr * (g + beta * new_m)},
             "this is Nesterov's step: g and beta times the new m in place of the new m",
             "p moves with the new m itself."),
            ("missing-path", {"new_p": lambda new_m, lr: -lr * new_m},
             "this is the step alone: it must be added to p", "Where does p start from?"),
            ("wrong-factor", {"new_m": lambda g, m, beta: beta * m + (1 - beta) * g},
             "g is multiplied by 1 - beta, as in an average: here it comes in whole",
             "Look at the docstring: which weight has g?"),
            ("wrong-operand", {"new_m": lambda g, m, beta: (1 - beta) * m + beta * g},
             "in m the weights are exchanged, and make an average: beta belongs to the old m, and g comes in whole",
             "With beta near 1, should m forget quickly or slowly?"),
            ("wrong-operand", {"new_m": lambda g, m, beta: m + beta * g},
             "in m beta multiplies g, and belongs to the old m", "Which of the two is to fade?"),
            ("wrong-factor", {"new_m": lambda g, m, beta: beta * (m + g)},
             "in m beta multiplies g as well, and belongs to the old m alone", "Which of the two is to fade?"),
            ("missing-local", {"new_m": lambda g, m: m + g},
             "beta is missing in m: nothing of it ever fades", "Which of the two is to fade?"),
            ("wrong-sign", {"new_m": lambda g, m, beta: beta * m - g},
             "in m the sign of g is wrong: the minus belongs to the step of p", "How many minus signs are there?"),
            ("missing-path", {"new_m": lambda m, beta: beta * m},
             "g never comes into m", "What should m learn in this step?"),
            ("wrong-factor", {"new_m": lambda g, m, lr, beta: beta * m + lr * g,
                              "new_p": lambda p, new_m: p - new_m},
             "lr is inside m, where it multiplies g alone: here it multiplies the whole step of p",
             "Both conventions are in use; look at the docstring for this one."),
            ("wrong-sign", {"new_m": lambda g, m, lr, beta: beta * m - lr * g,
                            "new_p": lambda p, new_m: p + new_m},
             "m is kept as the step itself, downhill and with lr inside: here it is a sum of gradients",
             "Both conventions are in use; look at the docstring for this one."),
            ("wrong-sign", {"new_m": lambda g, m, lr, beta: beta * m - lr * g},
             "lr times g is subtracted in m, as if m were the step itself: here it is a sum of gradients",
             "Both conventions are in use; look at the docstring for this one."),
            ("wrong-operand", {"new_m": lambda g, m, lr: lr * m + g, "new_p": lambda p, new_m, beta: p - beta * new_m},
             "lr and beta are exchanged", "Which of them makes a step short, and which lets the past fade?"),
            ("wrong-operand", {"new_m": lambda g, m, lr: lr * m + g},
             "lr multiplies the old m in place of beta", "Which of them lets the past fade?"),
            ("wrong-sign", {"new_m": lambda g, m, beta: g - beta * m},
             "the old m is subtracted from g: it must be added", "How many minus signs are there?"),
            ("hard-coded", {"new_m": lambda g, m: 0.9 * m + g}, "0.9 is typed in, and must be beta",
             "What is the argument beta for?"),
            ("extra-factor", {"new_m": lambda g, m, lr, beta: beta * m + lr * g},
             "lr multiplies g when m is made, and belongs to the step of p alone", "How often is lr used?"),
        )),
        Misconception("overwritten", "return.1", lambda g: g, "the old m is lost: the new one is g",
                      ("What is to be kept of the old m?",)),
        Misconception("forward-value", "return.1", lambda m: m,
                      "the old m is returned: the next step needs the new one",
                      ("What will the next call get for its m?",)),
        Misconception("wrong-operand", "return.0", _momentum_rule({}, "new_m"),
                      "the new m is returned in the place of the new p", ("In which order are they returned?",)),
        Misconception("wrong-operand", "return.1", _momentum_rule({}, "new_p"),
                      "the new p is returned in the place of the new m", ("In which order are they returned?",)),
        Misconception("forward-value", "return.0", lambda p: p, "the old p is returned",
                      ("What was the step for?",)),
    ),
)  # fmt: skip

_UNCORRECTED = (
    ("missing-local", {"hat_m": lambda new_m: new_m},
     "the first moment is not corrected: m is used without the division by 1 - beta1**t",
     "m began with zeros. How much of it is still zeros after t steps?"),
    ("missing-local", {"hat_v": lambda new_v: new_v},
     "the second moment is not corrected: v is used without the division by 1 - beta2**t",
     "v began with zeros. How much of it is still zeros after t steps?"),
    ("missing-local", {"hat_m": lambda new_m: new_m, "hat_v": lambda new_v: new_v},
     "neither moment is corrected: the divisions by 1 - beta1**t and 1 - beta2**t are missing",
     "Both moments began with zeros. What is t for?"),
    ("wrong-point", {"hat_m": lambda new_m, beta1, t: new_m / (1 - beta1 ** (t - 1)),
                     "hat_v": lambda new_v, beta2, t: new_v / (1 - beta2 ** (t - 1))},
     "t is counted from 0 in the corrections: their exponent is t - 1, and must be t",
     "In the very first step t is 1. What would t - 1 do there?"),
)  # fmt: skip
_OTHER_ROOTS = (
    ({"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * hat_m / (hat_v + eps).sqrt()}, "eps is inside the root"),
    ({"new_p": lambda p, hat_m, hat_v, lr: p - lr * hat_m / hat_v.sqrt()}, "eps is missing"),
    ({"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * hat_m / (hat_v + eps)}, "the root is missing"),
    ({"new_p": lambda p, hat_m, hat_v, lr, eps: p + lr * hat_m / (hat_v.sqrt() + eps)}, "p moves uphill"),
)

adam_step = Routine(
    title="A step of Adam",
    inputs={"p": normal("..."), "g": normal("..."), "m": normal("..."), "v": uniform("...", 1, 3),
            "t": each_of(2, 5, 3), "lr": number(0.5, 2), "beta1": number(0.6, 0.8), "beta2": number(0.85, 0.95),
            "eps": number(0.1, 0.4)},
    reference=lambda **given: [_ADAM.values(**given)[name] for name in ("new_p", "new_m", "new_v")],
    returns=3,
    hints=_optimizer_hints(
        p=(
            "Are the new m and the new v right? Then four things are left: two corrections, a root, a quotient.",
            "Compute the two corrected moments under names of their own; p needs nothing else of m, v and t.",
            "The root is taken of the corrected v, and eps is added to what comes out of it.",
        ),
        m=(
            "How much of the old m is kept, and how much of g comes in?",
            "The two weights add up to 1, and beta1 is the one of what is kept.",
            "What is returned is the moment itself; the corrected one is for the step of p alone.",
        ),
        v=(
            "m averages g. What does v average?",
            "The two weights add up to 1, and beta2 is the one of what is kept.",
            "g comes in squared; the corrected moment is for the step of p alone.",
        ),
    ),
    misconceptions=(
        *_slips(_adam_rule, ("new_p", "new_m", "new_v"), (
            *_UNCORRECTED,
            ("wrong-operand", {"hat_m": lambda new_m, beta2, t: new_m / (1 - beta2**t)},
             "the first moment is corrected with beta2, and must be with beta1", "Which beta made m?"),
            ("wrong-operand", {"hat_v": lambda new_v, beta1, t: new_v / (1 - beta1**t)},
             "the second moment is corrected with beta1, and must be with beta2", "Which beta made v?"),
            ("wrong-operand", {"hat_m": lambda new_m, beta2, t: new_m / (1 - beta2**t),
                               "hat_v": lambda new_v, beta1, t: new_v / (1 - beta1**t)},
             "beta1 and beta2 are exchanged in the two corrections", "Which beta made m, and which v?"),
            ("wrong-factor", {"hat_m": lambda new_m, beta1, t: new_m * (1 - beta1**t)},
             "the first moment is multiplied by its correction, and must be divided by it",
             "Half of m is still zeros: should it be made larger, or smaller?"),
            ("wrong-factor", {"hat_v": lambda new_v, beta2, t: new_v * (1 - beta2**t)},
             "the second moment is multiplied by its correction, and must be divided by it",
             "Half of v is still zeros: should it be made larger, or smaller?"),
            ("wrong-factor", {"hat_m": lambda new_m, beta1, t: new_m * (1 - beta1**t),
                              "hat_v": lambda new_v, beta2, t: new_v * (1 - beta2**t)},
             "both moments are multiplied by their corrections, and must be divided by them",
             "Half of them is still zeros: should they be made larger, or smaller?"),
            ("wrong-point", {"hat_m": lambda new_m, beta1, t: new_m / (1 - beta1 ** (t + 1)),
                             "hat_v": lambda new_v, beta2, t: new_v / (1 - beta2 ** (t + 1))},
             "t is counted up once more: the exponent of the corrections is t + 1, and must be t",
             "t comes in as the number of this step already."),
            ("wrong-point", {"hat_m": lambda new_m, beta1, t: new_m / (1 - beta1 ** (t - 1))},
             "t is counted from 0 in the first moment's correction", "In the very first step t is 1."),
            ("wrong-point", {"hat_v": lambda new_v, beta2, t: new_v / (1 - beta2 ** (t - 1))},
             "t is counted from 0 in the second moment's correction", "In the very first step t is 1."),
            ("missing-local", {"hat_m": lambda new_m, beta1: new_m / (1 - beta1),
                               "hat_v": lambda new_v, beta2: new_v / (1 - beta2)},
             "t is not used: both corrections are those of the first step",
             "How much of m is still zeros after t steps?"),
            ("missing-local", {"hat_m": lambda new_m, beta1: new_m / (1 - beta1)},
             "t is not used in the first moment's correction", "How much of m is still zeros after t steps?"),
            ("missing-local", {"hat_v": lambda new_v, beta2: new_v / (1 - beta2)},
             "t is not used in the second moment's correction", "How much of v is still zeros after t steps?"),
            ("wrong-point", {"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * hat_m / (hat_v + eps).sqrt()},
             "eps is added inside the root, and must be added to the root",
             "Which is done first, the root or the sum?"),
            ("missing-local", {"new_p": lambda p, hat_m, hat_v, lr: p - lr * hat_m / hat_v.sqrt()},
             "eps is missing in the denominator", "What if v is 0?"),
            ("wrong-point", {"new_p": lambda p, hat_m, new_v, beta2, t, lr, eps:
                             p - lr * hat_m * (1 - beta2**t) ** 0.5 / (new_v.sqrt() + eps)},
             "eps is added before the second moment is corrected: that divides eps as well",
             "Correct v first, then take the root, then add eps."),
            ("wrong-operand", {"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * (hat_m / hat_v.sqrt() + eps)},
             "eps is added to the quotient, and must be added to its denominator", "Where do the parentheses close?"),
            ("wrong-sign", {"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * hat_m / (hat_v.sqrt() - eps)},
             "eps is subtracted from the root, and must be added", "eps is there to keep the denominator away from 0."),
            ("missing-local", {"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * hat_m / (hat_v + eps)},
             "the root of the second moment is missing", "v has the unit of g squared. Which unit should a step have?"),
            ("wrong-sign", {"new_p": lambda p, hat_m, hat_v, lr, eps: p + lr * hat_m / (hat_v.sqrt() + eps)},
             "p moves uphill: the step has the wrong sign", "In which direction does the loss grow?"),
            ("missing-local", {"new_p": lambda p, hat_m, hat_v, eps: p - hat_m / (hat_v.sqrt() + eps)},
             "lr is missing in the step of p", "What makes a step short or long?"),
            ("missing-path", {"new_p": lambda hat_m, hat_v, lr, eps: -lr * hat_m / (hat_v.sqrt() + eps)},
             "this is the step alone: it must be added to p", "Where does p start from?"),
            ("wrong-operand", {"new_p": lambda p, g, hat_v, lr, eps: p - lr * g / (hat_v.sqrt() + eps)},
             "p moves with g, and must with the corrected first moment", "What is m kept for?"),
            ("missing-path", {"new_p": lambda p, hat_m, lr: p - lr * hat_m},
             "the second moment is not used: the division by its root is missing", "What is v kept for?"),
            ("wrong-operand", {"new_p": lambda p, g, hat_m, lr, eps: p - lr * hat_m / (g.abs() + eps)},
             "the step is divided by the size of this one g, and must be by the root of the corrected second moment",
             "What is v kept for?"),
            ("wrong-operand", {"hat_m": lambda m, beta1, t: m / (1 - beta1**t)},
             "p moves with the old m, and must with the new one", "Which is made first, the new m or the new p?"),
            ("wrong-operand", {"hat_v": lambda v, beta2, t: v / (1 - beta2**t)},
             "the step is divided with the old v, and must be with the new one",
             "Which is made first, the new v or the new p?"),
            ("wrong-operand", {"hat_m": lambda m, beta1, t: m / (1 - beta1**t),
                               "hat_v": lambda v, beta2, t: v / (1 - beta2**t)},
             "p moves with the old m and the old v, and must with the new ones",
             "Which are made first, the new moments or the new p?"),
            ("wrong-operand", {"new_m": lambda g, m, beta1: (1 - beta1) * m + beta1 * g},
             "in m beta1 and 1 - beta1 are exchanged", "With beta1 near 1, should m forget quickly or slowly?"),
            ("wrong-operand", {"new_v": lambda g, v, beta2: (1 - beta2) * v + beta2 * g**2},
             "in v beta2 and 1 - beta2 are exchanged", "With beta2 near 1, should v forget quickly or slowly?"),
            ("wrong-operand", {"new_m": lambda g, m, beta1: (1 - beta1) * m + beta1 * g,
                               "new_v": lambda g, v, beta2: (1 - beta2) * v + beta2 * g**2},
             "in both moments beta and 1 - beta are exchanged", "Which share of the old one is kept?"),
            ("wrong-operand", {"new_m": lambda g, m, beta2: beta2 * m + (1 - beta2) * g,
                               "new_v": lambda g, v, beta1: beta1 * v + (1 - beta1) * g**2,
                               "hat_m": lambda new_m, beta2, t: new_m / (1 - beta2**t),
                               "hat_v": lambda new_v, beta1, t: new_v / (1 - beta1**t)},
             "beta1 and beta2 are exchanged throughout", "Which of them belongs to m?"),
            ("wrong-operand", {"new_m": lambda g, m, beta2: beta2 * m + (1 - beta2) * g,
                               "new_v": lambda g, v, beta1: beta1 * v + (1 - beta1) * g**2},
             "beta1 and beta2 are exchanged in the two moments", "Which of them belongs to m?"),
            ("wrong-operand", {"new_v": lambda g, v, beta1: beta1 * v + (1 - beta1) * g**2},
             "v is made with beta1, and must be with beta2", "Which beta belongs to v?"),
            ("wrong-operand", {"new_m": lambda g, m, beta2: beta2 * m + (1 - beta2) * g},
             "m is made with beta2, and must be with beta1", "Which beta belongs to m?"),
            ("missing-local", {"new_m": lambda g, m, beta1: beta1 * m + g},
             "in m g comes in whole, as in momentum_step: times 1 - beta1 is missing", "m is an average of gradients."),
            ("missing-local", {"new_v": lambda g, v, beta2: beta2 * v + g**2},
             "in v g**2 comes in whole: times 1 - beta2 is missing", "v is an average of squares."),
            ("missing-local", {"new_m": lambda g, m, beta1: beta1 * m + g,
                               "new_v": lambda g, v, beta2: beta2 * v + g**2},
             "in both moments the new part comes in whole: times 1 - beta is missing", "Both are averages."),
            ("wrong-sign", {"new_m": lambda g, m, beta1: beta1 * m - (1 - beta1) * g},
             "in m g is subtracted: the minus belongs to the step of p", "How many minus signs are there?"),
            ("wrong-local", {"hat_m": lambda new_m, beta1, t: new_m / (1 - beta1**t) ** 0.5},
             "the first moment is divided by the root of its correction", "Is a root taken of the first moment?"),
            ("extra-factor", {"hat_v": lambda new_v, beta2, t: new_v / (1 - beta2**t) ** 2},
             "the second moment is corrected twice", "How often is v divided by 1 - beta2**t?"),
            ("missing-local", {"new_v": lambda g, v, beta2: beta2 * v + (1 - beta2) * g},
             "in v g is not squared", "m averages g. What does v average?"),
            ("wrong-local", {"new_v": lambda g, v, beta2: beta2 * v + (1 - beta2) * g.abs()},
             "in v the absolute value of g comes in, and must be its square", "m averages g. What does v average?"),
            ("wrong-local", {"new_v": lambda g, v, beta2: beta2 * v + ((1 - beta2) * g) ** 2},
             "in v 1 - beta2 is squared as well: it stands outside of the square", "Where do the parentheses close?"),
            ("wrong-operand", {"new_v": lambda new_m, v, beta2: beta2 * v + (1 - beta2) * new_m**2},
             "v averages the square of the new m, and must average that of g", "m averages g. What does v average?"),
            ("wrong-operand", {"new_v": lambda g, m, v, beta2: beta2 * v + (1 - beta2) * (g - m) ** 2},
             "v averages the square of g less m, and must average that of g", "m averages g. What does v average?"),
            ("hard-coded", {"new_m": lambda g, m: 0.9 * m + 0.1 * g, "new_v": lambda g, v: 0.999 * v + 0.001 * g**2,
                            "hat_m": lambda new_m, t: new_m / (1 - 0.9**t),
                            "hat_v": lambda new_v, t: new_v / (1 - 0.999**t)},
             "0.9 and 0.999 are typed in, and must be beta1 and beta2", "What are the arguments beta1 and beta2 for?"),
            ("hard-coded", {"new_m": lambda g, m: 0.9 * m + 0.1 * g}, "in m 0.9 is typed in, and must be beta1",
             "What is the argument beta1 for?"),
            ("overwritten", {"new_m": lambda g: g}, "the old m is lost: the new one is g",
             "What is kept of the old m?"),
            ("overwritten", {"new_v": lambda g: g**2}, "the old v is lost: the new one is g**2",
             "What is kept of the old v?"),
        )),
        Misconception("hard-coded", "return.2", lambda g, v: 0.999 * v + 0.001 * g**2,
                      "in v 0.999 is typed in, and must be beta2", ("What is the argument beta2 for?",)),
        *(Misconception(code, "return.0", _adam_rule({**first, **second}, "new_p"), f"{says}; and {too}", (hint,))
          for code, first, says, hint in _UNCORRECTED for second, too in _OTHER_ROOTS),
        *(Misconception("forward-value", f"return.{place}", rule, f"the old {name} is returned: the next step "
                        "needs the new one", (f"What will the next call get for its {name}?",))
          for place, name, rule in ((0, "p", lambda p: p), (1, "m", lambda m: m), (2, "v", lambda v: v))),
        *(Misconception("wrong-operand", f"return.{place}", _adam_rule({}, f"hat_{name}"),
                        f"the corrected {name} is returned: kept from step to step is {name} before its correction",
                        ("The correction would be made again on top of it in the next step.",))
          for place, name in ((1, "m"), (2, "v"))),
        *(Misconception("wrong-operand", f"return.{place}", _adam_rule({}, result),
                        f"the new {result[-1]} is returned in the place of the new {name}",
                        ("In which order are they returned?",))
          for place, name in enumerate("pmv") for result in ("new_p", "new_m", "new_v") if result[-1] != name),
    ),
)  # fmt: skip


# --- a fixed point -----------------------------------------------------------------------------------------------


def _contracting(rng, _setting, shape):
    """A matrix that shrinks every vector to nine tenths of its length, or less; shape: (n, n)."""
    import numpy as np

    matrix = rng.standard_normal(shape)
    return (0.9 * matrix / np.linalg.norm(matrix, 2)).astype("float32")


def _settled(x, w):
    """Where z = tanh(x + z @ w) comes to rest, by iteration, and Newton's steps at the end; numpy arrays."""
    import numpy as np

    z = np.zeros_like(x)
    for _ in range(30):
        z = np.tanh(x + z @ w)
    for _ in range(4):
        following = np.tanh(x + z @ w)
        system = np.eye(len(w)) - w * (1 - following**2)[:, None]
        z = z + np.linalg.solve(system.swapaxes(1, 2), (following - z)[:, :, None])[:, :, 0]
    return z


def _fixed_point(x, w):
    """out = (x + out @ w).tanh(), where it is at rest"""
    import torch

    # One step of Newton's from the fixed point: it leads nowhere, and has the gradient of the point it is taken from.
    z = torch.from_numpy(_settled(x.detach().double().numpy(), w.detach().double().numpy())).to(x.dtype)
    jacobian = w.detach() * (1 - z**2)[:, None]
    inverse = (torch.eye(len(w), dtype=w.dtype) - jacobian).inverse()
    return z + (((x + z @ w).tanh() - z)[:, None] @ inverse)[:, 0]


def _slope(out):
    """tanh's derivative, from what it gave."""
    return 1 - out**2


def _arrived(w, out, out_g, turned=True, sign=1, around=_slope, behind=False, turns=None):
    """What arrives at each row's out from the loss and around the loop; shape: (bs, n).

    Args:
        around: what one turn multiplies by besides w.
        behind: it does so after the product with w, and not before.
        turns: how often it goes around; as often as it takes by default.
    """
    import torch

    turn = sign * (w.t() if turned else w) * (around(out)[:, None] if behind else around(out)[:, :, None])
    if turns is None:
        return torch.linalg.solve(torch.eye(len(w), dtype=w.dtype) - turn.mT, out_g[:, :, None])[:, :, 0]
    arrived = out_g
    for _ in range(turns):
        arrived = out_g + (arrived[:, None] @ turn)[:, 0]
    return arrived


_AROUND = (
    ("missing-path", {"turns": 0}, "the path around the loop is missing: out is used in its own making",
     "out is on both sides of its equation. Through which path does a nudge of x act besides the direct one?"),
    *(("missing-path", {"turns": turns}, f"the gradient goes around the loop {often}, and must go on until it rests",
       "What arrives at out after so many turns is used to make out again.")
      for turns, often in ((1, "once"), (2, "twice"), (3, "three times"), (4, "four times"), (5, "five times"))),
    ("transposed", {"turned": False}, "around the loop the gradient is multiplied by w, and must be by its transpose",
     "out @ w goes back with the transpose of w, as in any linear layer."),
    ("transposed", {"turned": False, "behind": True},
     "the system is solved with the transpose of its matrix, and must be with the matrix itself",
     "What arrives at out goes through the tanh first, and then back through w. Which matrix does both?"),
    ("wrong-sign", {"sign": -1}, "what comes around the loop is subtracted, and must be added",
     "Two contributions arrive at out: from the loss, and from its own use."),
    ("missing-local", {"around": lambda out: 1 + 0 * out}, "tanh's derivative is missing around the loop",
     "Between out and its own next value there is a tanh."),
    ("extra-factor", {"around": lambda out: _slope(out) ** 2}, "tanh's derivative is there twice around the loop",
     "How many times does one turn go through a tanh?"),
    ("wrong-local", {"around": lambda out: 1 - out}, "around the loop 1 - out is used as tanh's derivative",
     "What is tanh's derivative, made from what it gave?"),
    ("wrong-point", {"behind": True}, "around the loop it goes through w before it goes through the tanh",
     "Forward, w comes first and the tanh last. Which comes first on the way back?"),
)  # fmt: skip


def _around(how):
    return lambda w, out, out_g: _slope(out) * _arrived(w, out, out_g, **how)


def _around_weight(how):
    return lambda w, out, out_g: out.t() @ _around(how)(w, out, out_g)


def _with_slope(slope):
    """What arrives in front of a tanh whose derivative is taken to be another one."""
    return lambda w, out, out_g: slope(out) * _arrived(w, out, out_g, around=slope)


fixed_point_grad = Exercise(
    title="Backwards through a fixed point",
    forward=_fixed_point,
    inputs={"x": normal("bs n"), "w": Sampler("n n", _contracting, differentiable=True), "out": output("bs n")},
    answers=stored("x.g", "w.g"),
    hints={
        "x.g": (
            "out is on both sides of its equation. How many paths lead to it, then?",
            "Call what arrives at out u: out.g, and what comes around once through tanh and w. Write u with u.",
            "Either solve that for u, or put u into its own right side until it no longer changes.",
        ),
        "w.g": (
            "If x.g is right, one product is left. What did w meet?",
            "x and out @ w are added, so the same gradient arrives at both.",
            "A linear layer whose input is out itself.",
        ),
    },
    misconceptions=(
        *(Misconception(code, "x.g", _around(how), says, (hint,)) for code, how, says, hint in _AROUND),
        *(Misconception(code, "w.g", _around_weight(how), says, (hint,)) for code, how, says, hint in _AROUND),
        Misconception("missing-path", "x.g", lambda w, out, out_g: _slope(out) * (_arrived(w, out, out_g) - out_g),
                      "only what comes around the loop is there: the direct path from the loss is missing",
                      ("Two things arrive at out. Which one does not come around?",)),
        Misconception("missing-path", "w.g", lambda w, out, out_g: out.t() @ (
                          _slope(out) * (_arrived(w, out, out_g) - out_g)),
                      "only what comes around the loop is there: the direct path from the loss is missing",
                      ("Two things arrive at out. Which one does not come around?",)),
        Misconception("wrong-local", "x.g", _with_slope(lambda out: 1 - out),
                      "1 - out is used as tanh's derivative: out is not squared",
                      ("What is tanh's derivative, made from what it gave?",)),
        Misconception("wrong-local", "w.g", lambda w, out, out_g: out.t() @ _with_slope(lambda y: 1 - y)(w, out, out_g),
                      "1 - out is used as tanh's derivative: out is not squared",
                      ("What is tanh's derivative, made from what it gave?",)),
        Misconception("missing-local", "x.g", lambda w, out, out_g: _arrived(w, out, out_g),
                      "this is what arrives at out: from there to x it goes through the tanh",
                      ("Between x and out there is a tanh.",)),
        Misconception("missing-local", "w.g", lambda w, out, out_g: out.t() @ _arrived(w, out, out_g),
                      "what arrives at out is used: in front of w it has gone through the tanh",
                      ("Between out @ w and out there is a tanh.",)),
        Misconception("wrong-operand", "w.g", lambda x, w, out, out_g: x.t() @ _around({})(w, out, out_g),
                      "x is used in place of out: w was multiplied by out",
                      ("What stands beside w in the equation?",)),
    ),
)  # fmt: skip
