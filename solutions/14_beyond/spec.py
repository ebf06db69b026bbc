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
    """Return float64 entries between 0.5 and 1.5, in full precision."""
    return rng.uniform(0.5, 1.5, shape)


def _outputs(_rng, setting, _shape):
    """Return the number of outputs: more than inputs, fewer, as many; two or more."""
    return max(2, setting.sizes["n"] + (2, -1, 3, 0, 1)[setting.index % 5])


# --- dual numbers ------------------------------------------------------------------------------------------------


def _jacobian(f, x):
    """Return the Jacobian of `f` at `x`; shape: (m, n)."""
    import torch

    return torch.autograd.functional.jacobian(f, x)


def _rows(vjp, x, m):
    """Return all rows of the Jacobian; shape: (m, n)."""
    import torch

    return torch.stack([vjp(x, u) for u in torch.eye(m, dtype=x.dtype)])


def _from(table, begin, end):
    """Return the rows from `begin` to `end`, zeros elsewhere; shape: that of `table`."""
    kept = table.new_zeros(table.shape)
    kept[begin:end] = table[begin:end]
    return kept


_TINY = 1e-25  # an imaginary part so small that its square is lost moves as a tangent does
_BOTH = ("add", "sub", "mul", "div")  # an operand of theirs may be a plain number
# What the tangent of an operation becomes, from values a, b and tangents da, db; n is a plain number.
_WRONG_RULES = (
    ("mul", lambda a, da, b, db: da * b, "missing-path", "in a product, only the tangent of the first factor is used"),
    ("mul", lambda a, da, b, db: a * db, "missing-path", "in a product, only the tangent of the second factor is used"),
    ("mul", lambda a, da, b, db: da * db, "wrong-local", "in a product, the two tangents are multiplied"),
    ("mul", lambda a, da, b, db: da * a + b * db, "wrong-operand",
     "in a product, each tangent is multiplied by its own factor; it must be multiplied by the other factor"),
    ("mul", lambda a, da, b, db: da + db, "missing-local", "in a product, the tangents are added, as in a sum"),
    ("mul", lambda a, da, b, db: da * b - a * db, "wrong-sign",
     "in a product, one term is subtracted from the other; the two terms must be added"),
    ("mul", lambda a, da, b, db: da * b + a * db + da * db, "extra-factor",
     "in a product, there is an extra term, da * db"),
    ("div", lambda a, da, b, db: (da * b + a * db) / b**2, "wrong-sign",
     "in the quotient rule, the term with the tangent of the denominator has the wrong sign"),
    ("div", lambda a, da, b, db: (a * db - da * b) / b**2, "wrong-sign",
     "in a quotient, both terms have the wrong sign: the term with the numerator's tangent must be positive"),
    ("div", lambda a, da, b, db: (da * b - a * db) / b, "wrong-local",
     "in the tangent of a quotient, the denominator is not squared"),
    ("div", lambda a, da, b, db: da * b - a * db, "missing-local",
     "in a quotient, the division by the square of the denominator is missing"),
    ("div", lambda a, da, b, db: da / b, "missing-path", "in a quotient, only the tangent of the numerator is used"),
    ("div", lambda a, da, b, db: 0 * da - a * db / b**2, "missing-path",
     "in a quotient, only the tangent of the denominator is used"),
    ("div", lambda a, da, b, db: (da * b - a * db) / a**2, "wrong-operand",
     "in the tangent of a quotient, the square of the numerator is used in place of that of the denominator"),
    ("div", lambda a, da, b, db: da / b + a * db, "wrong-local",
     "the second term of the rule for a quotient is that of a product"),
    ("div", lambda a, da, b, db: da / b - db / b**2, "wrong-operand",
     "in a quotient, the denominator's tangent is not multiplied by the numerator"),
    ("div", lambda a, da, b, db: da / b - a * db / b, "wrong-local",
     "in a quotient, the denominator is not squared in the term with the denominator's tangent"),
    ("mul", lambda a, da, b, db: (da * b + a * db) / 2, "wrong-factor", "in a product, the tangent is divided by 2"),
    ("add", lambda a, da, b, db: da + 0 * db, "missing-path", "in a sum, only the tangent of the first term is used"),
    ("add", lambda a, da, b, db: 0 * da + db, "missing-path", "in a sum, only the tangent of the second term is used"),
    ("add", lambda a, da, b, db: (da + db) / 2, "wrong-factor", "in a sum, the tangents are averaged"),
    ("add", lambda a, da, b, db: da * b + a * db, "wrong-local", "the rule of a sum is that of a product"),
    ("sub", lambda a, da, b, db: da + db, "wrong-sign", "in a difference, the tangents are added"),
    ("sub", lambda a, da, b, db: db - da, "wrong-sign",
     "in a difference, the tangents are subtracted in the wrong order"),
    ("sub", lambda a, da, b, db: da + 0 * db, "missing-path",
     "in a difference, only the tangent of the first term is used"),
    ("rsub", lambda a, da, b, db: db, "wrong-sign",
     "when a dual number is subtracted from a plain number, as in `2 - x`, its tangent keeps its sign; it must change"
     " its sign"),
    ("rdiv", lambda a, da, b, db: a * db / b**2, "wrong-sign",
     "when a plain number is divided by a dual number, as in `3 / x`, the minus sign is missing"),
    ("rdiv", lambda a, da, b, db: -db / b**2, "missing-local",
     "when a plain number is divided by a dual number, as in `3 / x`, the tangent is not multiplied by the number"),
    ("rdiv", lambda a, da, b, db: -a * db / b, "wrong-local",
     "when a plain number is divided by a dual number, as in `3 / x`, the denominator is not squared"),
    ("rdiv", lambda a, da, b, db: a * db, "wrong-local",
     "when a plain number is divided by a dual number, as in `3 / x`, the tangent of the product is used"),
    ("rdiv", lambda a, da, b, db: a / db, "wrong-local",
     "when a plain number is divided by a dual number, as in `3 / x`, the number is divided by the tangent"),
    ("mul number", lambda a, da, b, db: da + db, "missing-local",
     "when a dual number is multiplied by a plain number, as in `2 * x`, the tangent is not multiplied"),
    ("div number", lambda a, da, b, db: da, "missing-local",
     "when a dual number is divided by a plain number, as in `x / 2`, the tangent is not divided"),
    ("div number", lambda a, da, b, db: da * b, "wrong-local",
     "when a dual number is divided by a plain number, as in `x / 2`, the tangent is multiplied by the number"),
    ("pow", lambda a, da, n: a ** (n - 1) * da, "missing-local",
     "in a power, the exponent is missing as a factor"),
    ("pow", lambda a, da, n: n * a**n * da, "wrong-local", "in a power, the exponent is not lowered by one"),
    ("pow", lambda a, da, n: n * a ** (n - 1), "missing-upstream", "in a power, the incoming tangent is missing"),
    ("pow", lambda a, da, n: da**n, "wrong-local",
     "in a power, the tangent is raised to the power, as if it were the value"),
    ("pow", lambda a, da, n: n * da ** (n - 1), "wrong-point",
     "in a power, the derivative is taken at the tangent; it must be taken at the value"),
    ("pow", lambda a, da, n: (n - 1) * a ** (n - 1) * da, "wrong-local",
     "in a power, the factor is the exponent minus 1; it must be the exponent itself"),
    ("pow", lambda a, da, n: n * a ** (n - 2) * da, "wrong-local", "in a power, the exponent is lowered twice"),
    ("pow", lambda a, da, n: a**n * da, "wrong-local", "the power is used in place of its derivative"),
    ("neg", lambda a, da: da, "wrong-sign", "in -x, the tangent of x keeps its sign; it must change its sign"),
    ("sin", lambda a, da: -a.cos() * da, "wrong-sign", "the derivative of sin has a minus sign; it must have none"),
    ("sin", lambda a, da: a.sin() * da, "wrong-local", "sin is used in place of the derivative of sin"),
    ("sin", lambda a, da: a.cos(), "missing-upstream", "in sin, the incoming tangent is missing"),
    ("sin", lambda a, da: da, "missing-local", "in sin, the tangent is passed on without the derivative"),
    ("sin", lambda a, da: da.sin(), "wrong-local", "in sin, the sine of the tangent is used as the new tangent"),
    ("sin", lambda a, da: da.cos(), "wrong-point",
     "the derivative of sin is taken at the tangent; it must be taken at the value"),
    ("sin", lambda a, da: (a.cos() * da).sin(), "extra-factor", "in sin, the sine of the new tangent is taken as well"),
    ("cos", lambda a, da: a.sin() * da, "wrong-sign", "the minus sign in the derivative of cos is missing"),
    ("cos", lambda a, da: a.cos() * da, "wrong-local", "cos is used in place of the derivative of cos"),
    ("cos", lambda a, da: -a.cos() * da, "wrong-local", "minus cos is used in place of the derivative of cos"),
    ("cos", lambda a, da: -a.sin(), "missing-upstream", "in cos, the incoming tangent is missing"),
    ("cos", lambda a, da: da, "missing-local", "in cos, the tangent is passed on without the derivative"),
    ("cos", lambda a, da: da.cos(), "wrong-local", "in cos, the cosine of the tangent is used as the new tangent"),
    ("cos", lambda a, da: -da.sin(), "wrong-point",
     "the derivative of cos is taken at the tangent; it must be taken at the value"),
    ("exp", lambda a, da: da, "missing-local", "in exp, the tangent is passed on without the derivative"),
    ("exp", lambda a, da: a.exp(), "missing-upstream", "in exp, the incoming tangent is missing"),
    ("exp", lambda a, da: a * (a - 1).exp() * da, "wrong-local", "exp is treated as a power of x"),
    ("exp", lambda a, da: a * a.exp() * da, "extra-factor", "in exp, the input x is an extra factor"),
    ("exp", lambda a, da: da.exp(), "wrong-local", "in exp, the exponential of the tangent is used as the new tangent"),
    ("sum", lambda a, da: da, "broadcast-accident",
     "in sum(), the tangent is not summed: it still has the length of x"),
    ("sum", lambda a, da: da.mean(), "mean-for-sum", "in sum(), the tangent is averaged"),
    ("sum", lambda a, da: 0 * da.sum(), "missing-path", "sum() is treated as a constant: it has no tangent"),
    ("sum", lambda a, da: 0 * da.sum() + len(da), "missing-upstream",
     "in sum(), the number of entries is used in place of the sum of the tangents"),
    ("sum", lambda a, da: a.sum(), "forward-value", "in sum(), the sum of the values is used as the tangent"),
    ("getitem", lambda a, da, i: 0 * da[i], "missing-path",
     "an entry x[i] is treated as a constant: it has no tangent"),
    ("getitem", lambda a, da, i: a[i], "forward-value", "the value of x[i] is used as its tangent"),
    ("getitem", lambda a, da, i: da, "broadcast-accident",
     "x[i] has the whole tangent of x; it must have only entry i of that tangent"),
    ("getitem", lambda a, da, i: 0 * da[i] + 1, "missing-upstream", "the tangent of x[i] is 1: v is lost"),
)  # fmt: skip
_WRONG_NUMBERS = (
    (lambda a: 1.0, "wrong-local",
     "your code gives a plain number the tangent 1; it is a constant, so its tangent must be 0"),
    (float, "forward-value", "a plain number is used as its own tangent; it is a constant, so its tangent must be 0"),
)  # fmt: skip

_OF_RULE = (
    "Take one operation of this kind, with dual numbers of your own, and work out the tangent of the result by hand.",
    "Move each operand by a thousandth of its tangent. How far does the result move? Compare this with the "
    "tangent that your method returns.",
    "Which values and which tangents does each term of this rule need, and which does your method use?",
)
_OF_NUMBER = (
    "When `x` moves along `v`, how fast does the number 3 change?",
    "Which line of your code turns a plain number into a dual number?",
    "Take `x + 3` and `3 * x`, with an `x` of your own, and work out both tangents by hand.",
)
_DUAL_HINTS = {
    "missing-path": ("How many of the operands depend on `x`? Each of them contributes to the tangent.",),
    "missing-upstream": ("If `v` were all zeros, what must the result be? Check that every rule uses the tangent.",),
    "wrong-sign": ("Increase the operands a little, one after the other. Does the result grow or shrink?",),
}


def _inherited(name, rule, code):
    """Yield rules of dual numbers that write other operations as products and powers, of which one rule is wrong.

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
    """Return the rule of a / b written as a * b ** -1."""
    return lambda a, da, b, db: product(a, da, 1 / b, power(b, db, -1))


def _by_other_rules(code, says, forward_mode):
    of_rule = _OF_NUMBER if forward_mode.number is not None else _OF_RULE
    return Misconception(code, "return", forward_mode.push, says, (*_DUAL_HINTS.get(code, ()), *of_rule)[:3])


jvp_dual = Routine(
    title="Forward mode with dual numbers",
    inputs={"f": _FIELDS, "x": Sampler("n", _points, exact=((0.5, 1.0, 1.5),)), "v": normal("n", dtype="float64")},
    reference=lambda f, x, v: f(x + _TINY * 1j * v).imag / _TINY,
    hints={
        "return": (
            "What does a number need besides its value, to say how fast it changes?",
            "Write a class with two fields. Operators return a new one: the value as usual, the tangent by its rule.",
            "For `3 / x` Python calls a method of `x` whose name begins with `__r`; a plain number is a constant.",
        ),
    },
    misconceptions=(
        Misconception("missing-upstream", "return", lambda f, x: _jacobian(f, x).sum(1),
                      says="v is left out: every entry of x has the tangent 1",
                      hints=("If `v` were all zeros, what should you return?",)),
        Misconception("forward-value", "return", lambda f, x: f(x),
                      says="this is the value f(x); it must be the tangent",
                      hints=("Your dual number has two fields. Which of them do you return?",)),
        Misconception("extra-factor", "return", lambda f, x, v: _jacobian(f, x) @ v * v,
                      says="the result is multiplied by v once more; v is already used as the tangent of x",
                      hints=("Double `v`. How must the answer change?",)),
        Misconception("wrong-operand", "return", lambda f, x, v: _jacobian(f, v) @ x,
                      says="x and v are swapped: this is the Jacobian of f at v, times x",
                      hints=("Which of the two is the point, and which the direction?",)),
        Misconception("wrong-operand", "return", lambda f, x: _jacobian(f, x) @ x,
                      says="x is used as its own tangent, in place of v",
                      hints=("Which tangent does x start with?",)),
        Misconception("transposed", "return", lambda f, x, v: _jacobian(f, x).T @ v,
                      says="the Jacobian is multiplied from the other side, as in reverse mode",
                      hints=("Does v have one number for each input, or one for each output?",)),
        Misconception("diagonal-only", "return", lambda f, x, v: _jacobian(f, x).diagonal() * v,
                      says="every output depends only on the entry of x at its own position",
                      hints=("Which entries of `x` does `x.sum()` depend on?",)),
        Misconception("elementwise-for-matmul", "return", lambda f, x, v: _jacobian(f, x).sum(1) * v,
                      says="every entry of x has the tangent 1, and the result is multiplied by v",
                      hints=("Where does `v` come in? It is the tangent of `x` before anything is computed.",)),
        Misconception("wrong-operand", "return", ForwardMode(exchanged=("rdiv",)).push,
                      says="3 / x is computed as x / 3, value and tangent",
                      hints=("In the method that Python calls for `3 / x`, which of the two is `self`?",)),
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
            "What is the product of a Jacobian and the direction (0, 1, 0, ...)?",
            "Run one pass of forward mode for each entry of `x`, with a tangent that moves only this entry.",
            "Each pass gives a column, with one entry for every output; stack the columns side by side.",
        ),
    },
    misconceptions=(
        Misconception("forward-value", "return", lambda f, x: f(x)[:, None].expand(-1, len(x)),
                      says="every column is the value f(x); it must be a tangent",
                      hints=("What does your forward mode return: the value, the tangent, or both?",)),
        Misconception("wrong-operand", "return", lambda f, x: _jacobian(f, x) * x,
                      says="every column is multiplied by an entry of x: direction i has x[i] in place of 1",
                      hints=("A direction says which entry moves. Does it depend on the value of that entry?",)),
        Misconception("broadcast-accident", "return",
                      lambda f, x: _jacobian(f, x).sum(1, keepdim=True).expand(-1, len(x)),
                      says="every column is the same: all entries of x move at once",
                      hints=("Which direction moves one entry while the others stay fixed?",)),
        Misconception("stale-gradient", "return", lambda f, x: _jacobian(f, x).cumsum(1),
                      says="each column is the sum of itself and of all columns before it: the direction still "
                           "holds the earlier 1s",
                      hints=("What is your direction in the second iteration? Start each one from zeros.",)),
        Misconception("wrong-operand", "return", lambda f, x: _jacobian(f, x).flip(1),
                      says="the columns are in reverse order: that of the last entry comes first",
                      hints=("Which entry of x does the first column belong to?",)),
        Misconception("wrong-operand", "return", lambda f, x: _jacobian(f, x).roll(1, 1),
                      says="every column is shifted by one, and the last one comes first",
                      hints=("Which entry of x does the first column belong to?",)),
        Misconception("partial-batch", "return", lambda f, x: _from(_jacobian(f, x).t(), 1, None).t(),
                      says="the first column is 0: the first entry of x never moves",
                      hints=("With which entry does your loop begin?",)),
        Misconception("partial-batch", "return", lambda f, x: _from(_jacobian(f, x).t(), 0, -1).t(),
                      says="the last column is 0: the last entry of x never moves",
                      hints=("With which entry does your loop end?",)),
        Misconception("overwritten", "return", lambda f, x: _from(_jacobian(f, x).t(), 0, 1).t(),
                      says="only the first column is filled; the others are zeros",
                      hints=("How many iterations does your loop make?",)),
        Misconception("overwritten", "return", lambda f, x: _from(_jacobian(f, x).t(), -1, None).t(),
                      says="only the last column is filled; the others are zeros",
                      hints=("What happens to the earlier columns in each iteration?",)),
    ),
)  # fmt: skip


jacobian_by_rows = Routine(
    title="A Jacobian, row by row",
    inputs={"vjp": _VJPS, "x": normal("n"), "m": Sampler("", _outputs)},
    reference=_rows,
    hints={
        "return": (
            "What does reverse mode return for the upstream gradient (0, 1, 0, ...)?",
            "Run one pass for each output, with an upstream gradient that selects only this output.",
            "Each of the `m` passes gives a row, with one entry for every input; stack the rows.",
        ),
    },
    misconceptions=(
        Misconception("extra-batch-sum", "return", lambda vjp, x, m: vjp(x, x.new_ones(m)).expand(m, -1),
                      says="every row is the sum of all rows: the upstream gradient selects all outputs at once",
                      hints=("Which upstream gradient selects one output, and no other?",)),
        Misconception("stale-gradient", "return", lambda vjp, x, m: _rows(vjp, x, m).cumsum(0),
                      says="each row includes all rows before it: the upstream gradient keeps earlier 1s",
                      hints=("What is your upstream gradient in the second iteration? Start each one from zeros.",)),
        Misconception("wrong-operand", "return", lambda vjp, x, m: _rows(vjp, x, m).flip(0),
                      says="the rows are in reverse order: that of the last output comes first",
                      hints=("Which output does the first row belong to?",)),
        Misconception("wrong-operand", "return", lambda vjp, x, m: _rows(vjp, x, m).roll(1, 0),
                      says="every row is shifted by one, and the last one comes first",
                      hints=("Which output does the first row belong to?",)),
        Misconception("wrong-operand", "return", lambda vjp, x, m: _rows(vjp, x, m)[:1].expand(m, -1),
                      says="every row is that of the first output",
                      hints=("What must differ from one pass to the next?",)),
        Misconception("wrong-operand", "return", lambda vjp, x, m: _rows(vjp, x, m)[-1:].expand(m, -1),
                      says="every row is that of the last output",
                      hints=("Where do you store a row once it is computed?",)),
        Misconception("partial-batch", "return", lambda vjp, x, m: _from(_rows(vjp, x, m), 1, None),
                      says="the first row is 0: the first output is never selected",
                      hints=("With which output does your loop begin?",)),
        Misconception("partial-batch", "return", lambda vjp, x, m: _from(_rows(vjp, x, m), 0, -1),
                      says="the last row is 0: the last output is never selected",
                      hints=("With which output does your loop end?",)),
        Misconception("partial-batch", "return", lambda vjp, x, m: _from(_rows(vjp, x, m), 0, len(x)),
                      says="only as many rows as x has entries are filled; there must be one row for every output",
                      hints=("How many outputs are there, and how many inputs?",)),
        Misconception("reshape-for-transpose", "return", lambda vjp, x, m: _rows(vjp, x, m).reshape(len(x), m).t(),
                      says="the rows are right, but a reshape puts their entries in the wrong places; stack the rows",
                      hints=("Is the array that `vjp` returns a row, or a column?",)),
        Misconception("extra-factor", "return", lambda vjp, x, m: _rows(vjp, x, m) * x,
                      says="column i is multiplied by x[i]",
                      hints=("What does `vjp` return: does a row still need a factor?",)),
    ),
)  # fmt: skip

# --- gradients of gradients, and of matrices ---------------------------------------------------------------------


def _conditioned(rng, _setting, shape):
    """Return a matrix with a positive determinant that is easy to invert, neither symmetric nor orthogonal."""
    import numpy as np

    left, right = (np.linalg.qr(rng.standard_normal(shape))[0] for _ in range(2))
    matrix = left * np.linspace(0.6, 1.8, shape[0]) @ right
    matrix[0] *= np.sign(np.linalg.det(matrix))
    return matrix.astype("float32")


def _slope_along(w, x, targ, v):
    """grad @ v, where grad = x.t() @ ((x @ w).sigmoid() - targ) / bs is the gradient of the mean cross-entropy"""
    error = (x @ w).sigmoid() - targ
    grad = x.t() @ error / len(x)
    return grad @ v


hvp_logistic = Exercise(
    title="A Hessian times a vector, without the Hessian",
    forward=_slope_along,
    inputs={"w": weights("n"), "x": normal("bs n"), "targ": mask("bs"), "v": weights("n")},
    answers=returned("w"),
    never_holds="n n",
    hints={
        "return": (
            "The gradient is a function of `w` like any other. How fast does it change when `w` moves along `v`?",
            "`x @ v` says how far each score moves along `v`. Does any step need an array of shape `(n, n)`?",
            "Multiply from right to left: n numbers, then bs, one factor for each, and back to n. No matrix is built.",
        ),
    },
    misconceptions=(
        Misconception("missing-local", "return", lambda w, x, v: x.t() @ (x @ w).sigmoid().mul(x @ v) / len(x),
                      says="the derivative of the sigmoid has only its first factor: the factor 1 - sigmoid is missing",
                      hints=("The derivative of a sigmoid is a product of two factors. Do you use both?",)),
        Misconception("missing-local", "return", lambda w, x, v: x.t() @ (1 - (x @ w).sigmoid()).mul(x @ v) / len(x),
                      says="the derivative of the sigmoid has only its second factor: the sigmoid itself is missing",
                      hints=("The derivative of a sigmoid is a product of two factors. Do you use both?",)),
        Misconception("wrong-local", "return",
                      lambda w, x, targ, v: x.t() @ (((x @ w).sigmoid() - targ) * (x @ v)) / len(x),
                      says="the error, sigmoid minus targ, is used in place of its derivative",
                      hints=("Differentiate the gradient once more. What does `sigmoid(x @ w) - targ` become?",)),
        Misconception("sum-for-mean", "return", lambda w, x, v: len(x) * _curved(w, x, v),
                      says="the division by bs is missing: the loss is a mean over the examples",
                      hints=("Repeat each example, so that the batch is twice as large. Should the answer change?",)),
        Misconception("forward-value", "return", lambda w, x, targ: x.t() @ ((x @ w).sigmoid() - targ) / len(x),
                      says="this is the gradient itself: v is not used",
                      hints=("Double `v`. The right answer doubles; does yours?",)),
        Misconception("wrong-point", "return",
                      lambda w, x, targ, v: x.t() @ ((x @ v).sigmoid() - targ) / len(x),
                      says="this is `grad`, the gradient of the loss, at v in place of w",
                      hints=("`w` is the point and `v` the direction. At which of them is the sigmoid taken?",)),
        Misconception("forward-value", "return",
                      lambda w, x, targ, v: (x.t() @ ((x @ w).sigmoid() - targ) / len(x)) * v,
                      says="this is the gradient times v, elementwise; the answer must be the rate at which the"
                           " gradient changes along v",
                      hints=("Differentiate once more: how does the gradient change when `w` moves along `v`?",)),
        Misconception("sum-of-products", "return", lambda w, x, v: x.t() @ (_bend(w, x).mean() * (x @ v)) / len(x),
                      says="the derivative of the sigmoid is averaged over the examples first; each example has its"
                           " own factor",
                      hints=("Which of the three factors belong to one example, and are multiplied before the sum?",)),
        Misconception("extra-factor", "return",
                      lambda w, x, targ, v: _curved(w, x, v) + x.t() @ ((x @ w).sigmoid() - targ) / len(x),
                      says="the gradient itself is added; the answer is only how it changes along v",
                      hints=("Double `v`. The right answer doubles; does yours?",)),
        Misconception("diagonal-only", "return",
                      lambda w, x, v: (x**2 * _bend(w, x)[:, None]).mean(0) * v,
                      says="only the diagonal of the Hessian is used: each entry of v affects only the same entry of"
                           " the answer",
                      hints=("Which scores does one entry of `w` affect, and which gradient entries depend on them?",)),
        Misconception("extra-factor", "return",
                      lambda w, x, targ, v: x.t() @ (_bend(w, x) * ((x @ w).sigmoid() - targ) * (x @ v)) / len(x),
                      says="the error, sigmoid minus targ, is an extra factor: only its derivative is used here",
                      hints=("`targ` is a constant. What is left of it when you differentiate the gradient?",)),
        Misconception("wrong-operand", "return", lambda w, x, targ, v: x.t() @ (_bend(w, x) * (x @ v) - targ) / len(x),
                      says="targ is subtracted here as well; it is a constant, so its derivative is 0",
                      hints=("`targ` is a constant. What is left of it when you differentiate the gradient?",)),
        Misconception("wrong-operand", "return", lambda w, x, v: _curved(w, x, w + v),
                      says="w + v is used in place of v",
                      hints=("`w` is the point, and `v` the direction. Which of them says how far the scores move?",
                             "Double `v`. The right answer doubles; does yours?")),
        Misconception("wrong-point", "return",
                      lambda w, x, v: x.t() @ ((x @ (w + v)).sigmoid() - (x @ w).sigmoid()) / len(x),
                      says="this is the gradient at w + v minus the gradient at w: a difference, not the derivative",
                      hints=("Double `v`. The right answer doubles; does yours?",
                             "Differentiate `grad @ v` with respect to `w`: where does the derivative of the sigmoid "
                             "come in?",
                             "How does each score move when `w` moves along `v`, and by how much does its sigmoid?")),
        Misconception("extra-factor", "return",
                      lambda w, x, targ, v: x.t() @ (((x @ w).sigmoid() - targ) ** 2 * (x @ v)) / len(x),
                      says="the squared error is used in place of the derivative of the sigmoid (the empirical Fisher "
                      "matrix); the two agree only on average",
                      hints=("`targ` is a constant. What is left of it when you differentiate the gradient?",)),
    ),
)  # fmt: skip


def _bend(w, x):
    """Return the derivative of the sigmoid at each example; shape: (bs,)."""
    p = (x @ w).sigmoid()
    return p * (1 - p)


def _curved(w, x, v):
    """Return the Hessian times v; shape: (n,)."""
    return x.t() @ (_bend(w, x) * (x @ v)) / len(x)


def _symmetric(matrix):
    """Return the mean of a matrix and its transpose."""
    return (matrix + matrix.t()) / 2


_OF_INVERSE = (
    "Write `out` as a matrix times `b`. Which matrix?",
    "What does the backward pass of a matrix product do with the matrix? Do the same with this one.",
    "Check one entry by hand, with a matrix of two rows and two columns that is not symmetric.",
)
solve_grad = Exercise(
    title="Backward pass of solving a linear system",
    forward=lambda a, b: a.inverse() @ b,
    inputs={"a": Sampler("n n", _conditioned, differentiable=True), "b": normal("n m"), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "`a @ out` is `b`, and `b` does not depend on `a`. If `a` changes, how must `out` change to keep it so?",
            "A nudge of `a`, times `out`, acts like a nudge of `b` with the opposite sign. You have `b.g`.",
            "A column times a row is a matrix: which of the two belongs to the rows of `a`?",
        ),
        "b.g": (
            "`out` is a matrix times `b`. Which matrix, and how is it used in the backward pass?",
            "The backward pass of a product uses the transpose of its matrix. Here the matrix is an inverse.",
            "There is no need to invert anything: solve one more system, with the transpose of `a`.",
        ),
    },
    misconceptions=(
        Misconception("wrong-operand", "a.g", lambda a, b, out_g: -(a.inverse().t() @ out_g) @ b.t(),
                      says="b is used in place of out; in `a @ out = b`, a is multiplied by out",
                      hints=("In `a @ out = b`, what is `a` multiplied by?",)),
        Misconception("wrong-operand", "a.g", lambda a, out_g: -(a.inverse().t() @ out_g) @ out_g.t(),
                      says="out.g is used in place of out; in `a @ out = b`, a is multiplied by out",
                      hints=("In `a @ out = b`, what is `a` multiplied by?",)),
        Misconception("missing-path", "a.g", lambda out, out_g: -out_g @ out.t(),
                      says="out.g is used as it is; b.g must be used in its place",
                      hints=("What lies between `out.g` and `a`? Look at `b.g`.",)),
        Misconception("inverse-for-transpose", "b.g", lambda a, out_g: a.t() @ out_g,
                      says="out.g is multiplied by `a.t()`; it must be multiplied by the inverse of `a.t()`",
                      hints=_OF_INVERSE),
        Misconception("wrong-operand", "b.g", lambda a, out_g: a @ out_g,
                      says="out.g is multiplied by a; it must be multiplied by the inverse of `a.t()`",
                      hints=_OF_INVERSE),
        Misconception("inverse-for-transpose", "a.g", lambda a, out, out_g: -(a.t() @ out_g) @ out.t(),
                      says="out.g is multiplied by `a.t()`; it must be multiplied by the inverse of `a.t()`, as for"
                           " b.g",
                      hints=_OF_INVERSE),
        Misconception("elementwise-for-matmul", "b.g", lambda a, out_g: (1 / a).t() @ out_g,
                      says="the reciprocal of each entry is used in place of the inverse matrix",
                      hints=("Is the inverse of a matrix the matrix of the inverses?",)),
    ),
)  # fmt: skip


def _doubled(matrix):
    """Return the matrix with all entries off the diagonal doubled."""
    return 2 * matrix - matrix.diagonal().diag()


logdet_grad = Exercise(
    title="Backward pass of a log-determinant",
    forward=lambda a: a.det().log(),
    inputs={"a": Sampler("n n", _conditioned, differentiable=True), "out": output()},
    answers=stored("a.g"),
    hints={
        "a.g": (
            "The determinant of a diagonal matrix is a product. What is its logarithm, and the gradient of that?",
            "For a diagonal matrix you get the reciprocal of each diagonal entry. Which matrix, computed from `a`,"
            " has these entries?",
            "Off the diagonal, it matters whether you transpose: nudge `a[0, 1]` of a small matrix by hand.",
        ),
    },
    misconceptions=(
        Misconception("extra-factor", "a.g", lambda a, out, out_g: out * out_g * a.inverse().t(),
                      says="there is an extra factor, out itself",
                      hints=("The derivative of a logarithm is 1 over what?",)),
        Misconception("wrong-local", "a.g", lambda a, out_g: out_g * _doubled(a.inverse()),
                      says="the entries off the diagonal are doubled, as for a symmetric matrix; here all entries are"
                           " independent",
                      hints=("Must `a[1, 0]` change when `a[0, 1]` does?",)),
    ),
)  # fmt: skip

inverse_grad = Exercise(
    title="Backward pass of a matrix inverse",
    forward=lambda a: a.inverse(),
    inputs={"a": Sampler("n n", _conditioned, differentiable=True), "out": output()},
    answers=stored("a.g"),
    hints={
        "a.g": (
            "For a single number, what is the derivative of `1 / a`, in terms of `out`?",
            "`a @ out` is the identity, a constant. Nudge both factors, and solve for the nudge of `out`.",
            "There are two factors `out`, one on each side; transpose both in the backward pass, and mind the sign.",
        ),
    },
    misconceptions=(
        Misconception("wrong-operand", "a.g", lambda a, out_g: -a.t() @ out_g @ a.t(),
                      says="a is used in place of its inverse, on both sides",
                      hints=("The derivative of `1 / a` is `-1 / a**2`. Which of the two arrays is `1 / a` here?",)),
    ),
)  # fmt: skip


# --- surrogate gradients, and optimizers -------------------------------------------------------------------------


def _sign_straight_through(inp):
    """out = inp.sign(), with the gradient of inp.clamp(-1, 1)"""
    clamped = inp.clamp(-1, 1)
    return clamped + (inp.sign() - clamped).detach()


straight_through_grad = Exercise(
    title="A straight-through estimator",
    forward=_sign_straight_through,
    inputs={"inp": away_from((-1.0, 0.0, 1.0), "..."), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "What is the derivative of the sign function, wherever it has one? Could a network learn with that?",
            "So the gradient of another function is used. Which one, and where is that function flat?",
            "Between -1 and 1 the upstream gradient passes unchanged. What is the derivative of a clamp outside?",
        ),
    },
    misconceptions=(
        Misconception("wrong-local", "inp.g", lambda inp, out_g: 0 * out_g,
                      says="this is the true derivative of the sign function, which is 0 everywhere",
                      hints=("With a gradient of 0 nothing can be learned. Which derivative is used in its place?",)),
        Misconception("missing-local", "inp.g", lambda out_g: out_g,
                      says="the derivative of `inp.clamp(-1, 1)` is missing",
                      hints=("Which function stands in for the sign in the backward pass? Where is it flat?",
                             "Which gradient must an entry get where that function is flat?")),
        Misconception("not-linear", "inp.g", lambda inp, out_g: out_g.sign() * (inp.abs() < 1),
                      says="the sign of out.g is taken; the sign function is applied only in the forward pass",
                      hints=("Double `out.g`. How must `inp.g` change?",)),
        Misconception("extra-factor", "inp.g", lambda inp, out, out_g: out_g * out * (inp.abs() < 1),
                      says="there is an extra factor, out: where inp is negative, it flips the sign of the gradient",
                      hints=("Does `clamp(-1, 1)` rise or fall where `inp` is -0.5?",)),
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
    """Return one value of a pass in which some steps are replaced, or several for a tuple of names."""
    values = InSteps({**steps.rules, **edits}).values(**given)
    return [values[name] for name in result] if isinstance(result, tuple) else values[result]


def _momentum_rule(edits, result):
    return lambda p, g, m, lr, beta: _edited(_MOMENTUM, edits, result, p=p, g=g, m=m, lr=lr, beta=beta)


def _adam_rule(edits, result):
    return lambda p, g, m, v, t, lr, beta1, beta2, eps: _edited(
        _ADAM, edits, result, p=p, g=g, m=m, v=v, t=t, lr=lr, beta1=beta1, beta2=beta2, eps=eps
    )


def _slips(make, results, table):
    """Return the misconceptions of a table of wrong steps, each a code, the steps, a message and hints.

    What changes several moments is one mistake in all that is returned.
    """
    return tuple(
        Misconception(code, "return", make(edits, results), says, hints)
        for code, edits, says, *hints in table
        if len(set(edits) & set(results)) > 1
    ) + tuple(
        Misconception(code, f"return.{place}", make(edits, result), says, hints)
        for code, edits, says, *hints in table
        for place, result in enumerate(results)
        if place == 0 or set(edits) == {result}
    )


def _optimizer_hints(**steps):
    return {f"return.{place}": hints for place, hints in enumerate(steps.values())}


_FADING = "The old m and g are added. Which of them should fade?"
momentum_step = Routine(
    title="A step of gradient descent with momentum",
    inputs={"p": normal("..."), "g": normal("..."), "m": normal("..."), "lr": number(0.5, 2),
            "beta": number(0.5, 0.8)},
    reference=lambda **given: [_MOMENTUM.values(**given)[name] for name in ("new_p", "new_m")],
    returns=2,
    hints=_optimizer_hints(
        p=(
            "Which is computed first, the new p or the new m? Which m does the step of `p` use?",
            "Look at the order of the two formulas in the lesson. Which m is on the right-hand side of the second?",
            "`p` moves downhill, by `lr` times the m that this step has just computed.",
        ),
        m=(
            "How much of the old `m` is kept, and how much of `g` is added?",
            "Look at the docstring: the new m is a sum, not an average, so the two weights need not add up to 1.",
            "`beta` multiplies the old `m` alone.",
        ),
    ),
    misconceptions=(
        *_slips(_momentum_rule, ("new_p", "new_m"), (
            ("wrong-operand", {"new_p": lambda p, m, lr: p - lr * m},
             "the update of p uses the old m; it must use the new m", "Which of the two is computed first?"),
            ("missing-path", {"new_p": lambda p, g, lr: p - lr * g},
             "the update of p uses g alone: that is plain gradient descent", "What is `m` for?"),
            ("wrong-sign", {"new_p": lambda p, new_m, lr: p + lr * new_m},
             "p moves uphill: the step has the wrong sign", "In which direction does the loss increase?"),
            ("missing-local", {"new_p": lambda p, new_m: p - new_m},
             "lr is missing from the update of p", "What sets the length of a step?"),
            ("wrong-factor", {"new_p": lambda p, new_m, lr, beta: p - lr * beta * new_m},
             "the update of p is multiplied by beta once more", "Where has `beta` been used already?"),
            ("extra-factor", {"new_p": lambda p, new_m, lr: p - lr * lr * new_m},
             "the update of p is multiplied by lr twice", "How many times is `lr` used in one step?"),
            ("wrong-operand", {"new_p": lambda p, g, new_m, lr, beta: p - lr * (g + beta * new_m)},
             "this is Nesterov momentum: with the new m, g + beta * m is used in place of m",
             "What does the docstring multiply by `lr`?"),
            ("missing-path", {"new_p": lambda new_m, lr: -lr * new_m},
             "this is only the step; it must be added to p", "Where does p start from?"),
            ("wrong-factor", {"new_m": lambda g, m, beta: beta * m + (1 - beta) * g},
             "g is multiplied by 1 - beta, as in an average; g must be added as it is",
             "Look at the docstring: what is the weight of `g`?"),
            ("wrong-operand", {"new_m": lambda g, m, beta: (1 - beta) * m + beta * g},
             "in m, the old m is multiplied by 1 - beta and g by beta; the old m must be multiplied by beta, and g by"
             " nothing",
             "With `beta` near 1, should m forget quickly or slowly?"),
            ("wrong-operand", {"new_m": lambda g, m, beta: m + beta * g},
             "in m, beta multiplies g; it must multiply the old m", _FADING),
            ("wrong-factor", {"new_m": lambda g, m, beta: beta * (m + g)},
             "in m, beta multiplies g as well; it must multiply only the old m", _FADING),
            ("missing-local", {"new_m": lambda g, m: m + g},
             "beta is missing from m: old gradients never fade", _FADING),
            ("wrong-sign", {"new_m": lambda g, m, beta: beta * m - g},
             "in m, the sign of g is wrong: the minus sign belongs in the update of p",
             "How many minus signs does the formula in the docstring have?"),
            ("missing-path", {"new_m": lambda m, beta: beta * m},
             "g is missing from the new m", "What is new in this step?"),
            ("wrong-factor", {"new_m": lambda g, m, lr, beta: beta * m + lr * g,
                              "new_p": lambda p, new_m: p - new_m},
             "g is multiplied by lr inside m; only the whole m must be multiplied by lr, in the update of p",
             "Both conventions are in use. Which one does the docstring state?"),
            ("wrong-sign", {"new_m": lambda g, m, lr, beta: beta * m - lr * g,
                            "new_p": lambda p, new_m: p + new_m},
             "m holds the step itself, with the minus sign and lr included; m must be a sum of gradients",
             "Both conventions are in use. Which one does the docstring state?"),
            ("wrong-sign", {"new_m": lambda g, m, lr, beta: beta * m - lr * g},
             "m subtracts lr * g in place of adding g, as if m were the step itself; m must be a sum of gradients",
             "Both conventions are in use. Which one does the docstring state?"),
            ("wrong-operand", {"new_m": lambda g, m, lr: lr * m + g, "new_p": lambda p, new_m, beta: p - beta * new_m},
             "lr and beta are swapped",
             "Which of lr and beta sets the length of a step, and which lets the past fade?"),
            ("wrong-operand", {"new_m": lambda g, m, lr: lr * m + g},
             "the old m is multiplied by lr; it must be multiplied by beta", "Which of them lets the past fade?"),
            ("wrong-sign", {"new_m": lambda g, m, beta: g - beta * m},
             "the old m is subtracted from g; it must be added",
             "How many minus signs does the formula in the docstring have?"),
            ("hard-coded", {"new_m": lambda g, m: 0.9 * m + g}, "0.9 is hard-coded; it must be beta",
             "What is the argument `beta` for?"),
            ("extra-factor", {"new_m": lambda g, m, lr, beta: beta * m + lr * g},
             "g is multiplied by lr in the new m, too; lr belongs only in the update of p",
             "How many times is `lr` used?"),
        )),
        Misconception("overwritten", "return.1", lambda g: g, "the old m is lost: the new one is g",
                      ("What should be kept of the old `m`?",)),
        Misconception("forward-value", "return.1", lambda m: m,
                      "the old m is returned; the next step needs the new m",
                      ("What will the next call be given as its `m`?",)),
        Misconception("wrong-operand", "return.0", _momentum_rule({}, "new_m"),
                      "the new m is returned in place of the new p", ("In which order must the values be returned?",)),
        Misconception("wrong-operand", "return.1", _momentum_rule({}, "new_p"),
                      "the new p is returned in place of the new m", ("In which order must the values be returned?",)),
        Misconception("forward-value", "return.0", lambda p: p, "the old p is returned",
                      ("Which p should the next call start from?",)),
    ),
)  # fmt: skip

_UNCORRECTED = (
    ("missing-local", {"hat_m": lambda new_m: new_m},
     "the first moment is not corrected: m is used without the division by 1 - beta1**t",
     "`m` started from zeros. How much of that is left after t steps?"),
    ("missing-local", {"hat_v": lambda new_v: new_v},
     "the second moment is not corrected: v is used without the division by 1 - beta2**t",
     "`v` started from zeros. How much of that is left after t steps?"),
    ("missing-local", {"hat_m": lambda new_m: new_m, "hat_v": lambda new_v: new_v},
     "neither moment is corrected: the divisions by 1 - beta1**t and 1 - beta2**t are missing",
     "Both moments started from zeros. What is `t` for?"),
    ("wrong-point", {"hat_m": lambda new_m, beta1, t: new_m / (1 - beta1 ** (t - 1)),
                     "hat_v": lambda new_v, beta2, t: new_v / (1 - beta2 ** (t - 1))},
     "t is counted from 0 in the corrections: the exponent is t - 1; it must be t",
     "In the very first step `t` is 1. What would `t - 1` do there?"),
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
            "Are the new m and v right? Then which of these is wrong: the two corrections, the root, the quotient?",
            "Compute the two corrected moments and name them; the step of `p` needs nothing else of m, v and `t`.",
            "Take the square root of the corrected v, then add `eps` to the root.",
        ),
        m=(
            "How much of the old `m` is kept, and how much of `g` is added?",
            "The two weights add up to 1; look at which part the docstring multiplies by `beta1`.",
            "`beta1` is the weight of the old `m`. Return the moment itself; the corrected one is for the step of `p`.",
        ),
        v=(
            "`m` averages `g`. What does `v` average?",
            "The two weights add up to 1; look at which part the docstring multiplies by `beta2`.",
            "`beta2` is the weight of the old `v`, and `g` is squared. Return the moment before its correction.",
        ),
    ),
    misconceptions=(
        *_slips(_adam_rule, ("new_p", "new_m", "new_v"), (
            *_UNCORRECTED,
            ("wrong-operand", {"hat_m": lambda new_m, beta2, t: new_m / (1 - beta2**t)},
             "the first moment is corrected with beta2; it must be corrected with beta1", "Which beta is used in m?"),
            ("wrong-operand", {"hat_v": lambda new_v, beta1, t: new_v / (1 - beta1**t)},
             "the second moment is corrected with beta1; it must be corrected with beta2", "Which beta is used in v?"),
            ("wrong-operand", {"hat_m": lambda new_m, beta2, t: new_m / (1 - beta2**t),
                               "hat_v": lambda new_v, beta1, t: new_v / (1 - beta1**t)},
             "beta1 and beta2 are swapped in the two corrections", "Which beta is used in m, and which in v?"),
            ("wrong-factor", {"hat_m": lambda new_m, beta1, t: new_m * (1 - beta1**t)},
             "the first moment is multiplied by 1 - beta1**t; it must be divided by it",
             "m started from zeros. Is it too large or too small in the first steps?"),
            ("wrong-factor", {"hat_v": lambda new_v, beta2, t: new_v * (1 - beta2**t)},
             "the second moment is multiplied by 1 - beta2**t; it must be divided by it",
             "v started from zeros. Is it too large or too small in the first steps?"),
            ("wrong-factor", {"hat_m": lambda new_m, beta1, t: new_m * (1 - beta1**t),
                              "hat_v": lambda new_v, beta2, t: new_v * (1 - beta2**t)},
             "both moments are multiplied by their corrections; they must be divided by them",
             "Both started from zeros. Are they too large or too small in the first steps?"),
            ("wrong-point", {"hat_m": lambda new_m, beta1, t: new_m / (1 - beta1 ** (t + 1)),
                             "hat_v": lambda new_v, beta2, t: new_v / (1 - beta2 ** (t + 1))},
             "t is incremented: the exponent of the corrections is t + 1; it must be t",
             "Which number does `t` have in the very first step?"),
            ("wrong-point", {"hat_m": lambda new_m, beta1, t: new_m / (1 - beta1 ** (t - 1))},
             "t is counted from 0 in the first moment's correction",
             "In the very first step `t` is 1. What is the correction there?"),
            ("wrong-point", {"hat_v": lambda new_v, beta2, t: new_v / (1 - beta2 ** (t - 1))},
             "t is counted from 0 in the second moment's correction",
             "In the very first step `t` is 1. What is the correction there?"),
            ("missing-local", {"hat_m": lambda new_m, beta1: new_m / (1 - beta1),
                               "hat_v": lambda new_v, beta2: new_v / (1 - beta2)},
             "t is not used: both corrections are those of the first step",
             "How much of the zeros that m started from is left after t steps?"),
            ("missing-local", {"hat_m": lambda new_m, beta1: new_m / (1 - beta1)},
             "t is not used in the first moment's correction",
             "How much of the zeros that m started from is left after t steps?"),
            ("missing-local", {"hat_v": lambda new_v, beta2: new_v / (1 - beta2)},
             "t is not used in the second moment's correction",
             "How much of the zeros that v started from is left after t steps?"),
            ("wrong-local", {"hat_m": lambda new_m, beta1, t: new_m / (1 - beta1 * t)},
             "in the correction of the first moment, beta1 is multiplied by t; it must be raised to the power t",
             "How much of the zeros that m started from is left after t steps?"),
            ("wrong-point", {"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * hat_m / (hat_v + eps).sqrt()},
             "eps is added inside the root; it must be added to the root",
             "Which comes first, the root or the sum?"),
            ("missing-local", {"new_p": lambda p, hat_m, hat_v, lr: p - lr * hat_m / hat_v.sqrt()},
             "eps is missing from the denominator", "What if v is 0?"),
            ("wrong-point", {"new_p": lambda p, hat_m, new_v, beta2, t, lr, eps:
                             p - lr * hat_m * (1 - beta2**t) ** 0.5 / (new_v.sqrt() + eps)},
             "eps is added before the correction of v, which therefore divides eps as well",
             "In which order are correction, root and `eps` applied?"),
            ("wrong-operand", {"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * (hat_m / hat_v.sqrt() + eps)},
             "eps is added to the quotient; it must be added to the denominator", "Where do the parentheses close?"),
            ("wrong-sign", {"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * hat_m / (hat_v.sqrt() - eps)},
             "eps is subtracted from the root; it must be added",
             "`eps` keeps the denominator away from 0. Which sign does that?"),
            ("missing-local", {"new_p": lambda p, hat_m, hat_v, lr, eps: p - lr * hat_m / (hat_v + eps)},
             "the square root of the second moment is missing",
             "v has the unit of g squared. Which unit should a step have?"),
            ("wrong-sign", {"new_p": lambda p, hat_m, hat_v, lr, eps: p + lr * hat_m / (hat_v.sqrt() + eps)},
             "p moves uphill: the step has the wrong sign", "In which direction does the loss increase?"),
            ("missing-local", {"new_p": lambda p, hat_m, hat_v, eps: p - hat_m / (hat_v.sqrt() + eps)},
             "lr is missing from the update of p", "What sets the length of a step?"),
            ("missing-path", {"new_p": lambda hat_m, hat_v, lr, eps: -lr * hat_m / (hat_v.sqrt() + eps)},
             "this is only the step; it must be added to p", "Where does p start from?"),
            ("wrong-operand", {"new_p": lambda p, g, hat_v, lr, eps: p - lr * g / (hat_v.sqrt() + eps)},
             "the update of p uses g; it must use the corrected first moment", "What is `m` for?"),
            ("missing-path", {"new_p": lambda p, hat_m, lr: p - lr * hat_m},
             "the division by the square root of the second moment is missing", "What is `v` for?"),
            ("wrong-operand", {"new_p": lambda p, g, hat_m, lr, eps: p - lr * hat_m / (g.abs() + eps)},
             "the step is divided by the absolute value of g; it must be divided by the root of the corrected second"
             " moment",
             "What is `v` for?"),
            ("wrong-operand", {"hat_m": lambda m, beta1, t: m / (1 - beta1**t)},
             "the update of p uses the old m; it must use the new m",
             "Which is computed first, the new m or the new p?"),
            ("wrong-operand", {"hat_v": lambda v, beta2, t: v / (1 - beta2**t)},
             "the update of p uses the old v; it must use the new v",
             "Which is computed first, the new v or the new p?"),
            ("wrong-operand", {"hat_m": lambda m, beta1, t: m / (1 - beta1**t),
                               "hat_v": lambda v, beta2, t: v / (1 - beta2**t)},
             "the update of p uses the old m and the old v; it must use the new ones",
             "Which are computed first, the new moments or the new p?"),
            ("wrong-operand", {"new_m": lambda g, m, beta1: (1 - beta1) * m + beta1 * g},
             "in m, beta1 and 1 - beta1 are swapped", "With beta1 near 1, should m forget quickly or slowly?"),
            ("wrong-operand", {"new_v": lambda g, v, beta2: (1 - beta2) * v + beta2 * g**2},
             "in v, beta2 and 1 - beta2 are swapped", "With beta2 near 1, should v forget quickly or slowly?"),
            ("wrong-operand", {"new_m": lambda g, m, beta1: (1 - beta1) * m + beta1 * g,
                               "new_v": lambda g, v, beta2: (1 - beta2) * v + beta2 * g**2},
             "in both moments, beta and 1 - beta are swapped", "What is the weight of the old moment?"),
            ("wrong-operand", {"new_m": lambda g, m, beta2: beta2 * m + (1 - beta2) * g,
                               "new_v": lambda g, v, beta1: beta1 * v + (1 - beta1) * g**2,
                               "hat_m": lambda new_m, beta2, t: new_m / (1 - beta2**t),
                               "hat_v": lambda new_v, beta1, t: new_v / (1 - beta1**t)},
             "beta1 and beta2 are swapped throughout", "Which beta belongs to m, and which to v?"),
            ("wrong-operand", {"new_m": lambda g, m, beta2: beta2 * m + (1 - beta2) * g,
                               "new_v": lambda g, v, beta1: beta1 * v + (1 - beta1) * g**2},
             "beta1 and beta2 are swapped in the two moments", "Which beta belongs to m, and which to v?"),
            ("wrong-operand", {"new_v": lambda g, v, beta1: beta1 * v + (1 - beta1) * g**2},
             "v uses beta1; it must use beta2", "Which beta belongs to v?"),
            ("wrong-operand", {"new_m": lambda g, m, beta2: beta2 * m + (1 - beta2) * g},
             "m uses beta2; it must use beta1", "Which beta belongs to m?"),
            ("wrong-operand", {"new_v": lambda g, v, beta1, beta2: beta2 * v + (1 - beta1) * g**2},
             "in v, the weight of g**2 is 1 - beta1; it must be 1 - beta2", "Do the two weights add up to 1?"),
            ("wrong-operand", {"new_m": lambda g, m, beta1, beta2: beta1 * m + (1 - beta2) * g},
             "in m, the weight of g is 1 - beta2; it must be 1 - beta1", "Do the two weights add up to 1?"),
            ("missing-local", {"new_m": lambda g, m, beta1: beta1 * m + g},
             "in m, g is not multiplied by 1 - beta1: that is the rule of momentum_step",
             "Do the two weights add up to 1?"),
            ("missing-local", {"new_v": lambda g, v, beta2: beta2 * v + g**2},
             "in v, the factor 1 - beta2 of g**2 is missing", "Do the two weights add up to 1?"),
            ("missing-local", {"new_m": lambda g, m, beta1: beta1 * m + g,
                               "new_v": lambda g, v, beta2: beta2 * v + g**2},
             "in both moments, the factor 1 - beta of the new part is missing", "Do the two weights add up to 1?"),
            ("wrong-sign", {"new_m": lambda g, m, beta1: beta1 * m - (1 - beta1) * g},
             "in m, g is subtracted: the minus sign belongs in the update of p",
             "How many minus signs does the formula in the docstring have?"),
            ("wrong-local", {"hat_m": lambda new_m, beta1, t: new_m / (1 - beta1**t) ** 0.5},
             "the first moment is divided by the square root of its correction; no root is taken there",
             "Is a root taken of the first moment?"),
            ("extra-factor", {"hat_v": lambda new_v, beta2, t: new_v / (1 - beta2**t) ** 2},
             "the second moment is corrected twice", "How many times is v divided by `1 - beta2**t`?"),
            ("missing-local", {"new_v": lambda g, v, beta2: beta2 * v + (1 - beta2) * g},
             "in v, g is not squared", "`m` averages `g`. What does `v` average?"),
            ("wrong-local", {"new_v": lambda g, v, beta2: beta2 * v + (1 - beta2) * g.abs()},
             "in v, the absolute value of g is used in place of its square",
             "`m` averages `g`. What does `v` average?"),
            ("wrong-local", {"new_v": lambda g, v, beta2: beta2 * v + ((1 - beta2) * g) ** 2},
             "in v, the factor 1 - beta2 is squared as well; only g must be squared",
             "Where do the parentheses close?"),
            ("wrong-operand", {"new_v": lambda new_m, v, beta2: beta2 * v + (1 - beta2) * new_m**2},
             "v averages the square of the new m; it must average the square of g",
             "`m` averages `g`. What does `v` average?"),
            ("wrong-operand", {"new_v": lambda g, m, v, beta2: beta2 * v + (1 - beta2) * (g - m) ** 2},
             "v averages the square of g - m; it must average the square of g",
             "`m` averages `g`. What does `v` average?"),
            ("hard-coded", {"new_m": lambda g, m: 0.9 * m + 0.1 * g, "new_v": lambda g, v: 0.999 * v + 0.001 * g**2,
                            "hat_m": lambda new_m, t: new_m / (1 - 0.9**t),
                            "hat_v": lambda new_v, t: new_v / (1 - 0.999**t)},
             "0.9 and 0.999 are hard-coded; they must be beta1 and beta2", "What are `beta1` and `beta2` for?"),
            ("hard-coded", {"new_m": lambda g, m: 0.9 * m + 0.1 * g}, "in m, 0.9 is hard-coded; it must be beta1",
             "What is the argument `beta1` for?"),
            ("overwritten", {"new_m": lambda g: g}, "the old m is lost: the new one is g",
             "How much of the old `m` is kept?"),
            ("overwritten", {"new_v": lambda g: g**2}, "the old v is lost: the new one is g**2",
             "How much of the old `v` is kept?"),
        )),
        Misconception("hard-coded", "return.2", lambda g, v: 0.999 * v + 0.001 * g**2,
                      "in v, 0.999 is hard-coded; it must be beta2", ("What is the argument `beta2` for?",)),
        *(Misconception(code, "return.0", _adam_rule({**first, **second}, "new_p"), f"{says}; also, {too}", (hint,))
          for code, first, says, hint in _UNCORRECTED for second, too in _OTHER_ROOTS),
        *(Misconception("forward-value", f"return.{place}", rule, f"the old {name} is returned; the next step "
                        f"needs the new {name}", (f"What will the next call be given as its `{name}`?",))
          for place, name, rule in ((0, "p", lambda p: p), (1, "m", lambda m: m), (2, "v", lambda v: v))),
        *(Misconception("wrong-operand", f"return.{place}", _adam_rule({}, f"hat_{name}"),
                        f"the corrected {name} is returned; the next step needs {name} before its correction",
                        ("How many times would the moment have been corrected after the next step?",))
          for place, name in ((1, "m"), (2, "v"))),
        *(Misconception("wrong-operand", f"return.{place}", _adam_rule({}, result),
                        f"the new {result[-1]} is returned in place of the new {name}",
                        ("In which order must the values be returned?",))
          for place, name in enumerate("pmv") for result in ("new_p", "new_m", "new_v") if result[-1] != name),
    ),
)  # fmt: skip


# --- a fixed point -----------------------------------------------------------------------------------------------


def _contracting(rng, _setting, shape):
    """Return a matrix that shrinks every vector to nine tenths of its length, or less; shape: (n, n)."""
    import numpy as np

    matrix = rng.standard_normal(shape)
    return (0.9 * matrix / np.linalg.norm(matrix, 2)).astype("float32")


def _settled(x, w):
    """Return the fixed point of z = tanh(x + z @ w), by iteration and Newton steps at the end; numpy arrays."""
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
    """out = (x + out @ w).tanh(), the fixed point"""
    import torch

    # One step of Newton's from the fixed point: it leads nowhere, and has the gradient of the point it is taken from.
    out = torch.from_numpy(_settled(x.detach().double().numpy(), w.detach().double().numpy())).to(x.dtype)
    jacobian = w.detach() * (1 - out**2)[:, None]
    inverse = (torch.eye(len(w), dtype=w.dtype) - jacobian).inverse()
    return out + (((x + out @ w).tanh() - out)[:, None] @ inverse)[:, 0]


def _slope(out):
    """Return the derivative of tanh, from its output."""
    return 1 - out**2


def _arrived(w, out, out_g, turned=True, sign=1, around=_slope, behind=False):
    """Return the total gradient of each row of out, from the loss and around the loop; shape: (bs, n).

    Args:
        around: the factor of one iteration besides w.
        behind: whether that comes after the product with w, and not before.
    """
    import torch

    turn = sign * (w.t() if turned else w) * (around(out)[:, None] if behind else around(out)[:, :, None])
    return torch.linalg.solve(torch.eye(len(w), dtype=w.dtype) - turn.mT, out_g[:, :, None])[:, :, 0]


_AROUND = (
    ("missing-path", {"around": lambda out: 0 * out}, "the path around the loop is missing: out also depends on itself",
     "`out` is on both sides of its equation. Along which path does a nudge of `x` act besides the direct one?"),
    ("transposed", {"turned": False},
     "in each iteration, the gradient is multiplied by w; it must be multiplied by the transpose of w",
     "What is the backward pass of `out @ w`, as in any linear layer?"),
    ("transposed", {"turned": False, "behind": True},
     "the linear system is solved with the transpose of its matrix; it must be solved with the matrix itself",
     "The gradient of `out` goes back through the tanh first, and then through `w`. Which matrix does both?"),
    ("wrong-sign", {"sign": -1}, "the contribution that comes back through `out @ w` is subtracted; it must be added",
     "`out` has two uses: in the loss and in its own equation. How do their contributions combine?"),
    ("missing-local", {"around": lambda out: 1 + 0 * out}, "the derivative of tanh is missing around the loop",
     "What lies between `out` and its own next value?"),
    ("extra-factor", {"around": lambda out: _slope(out) ** 2},
     "the derivative of tanh is applied twice around the loop",
     "How many times does one iteration go through a tanh?"),
    ("wrong-local", {"around": lambda out: 1 - out}, "in each iteration, 1 - out is used as the derivative of tanh",
     "What is the derivative of tanh, in terms of its output?"),
    ("wrong-point", {"behind": True},
     "in each iteration, the gradient goes through w before the tanh; it must go through the tanh first",
     "In the forward pass `w` comes first and the tanh last. Which comes first in the backward pass?"),
)  # fmt: skip


def _around(how):
    return lambda w, out, out_g: _slope(out) * _arrived(w, out, out_g, **how)


def _around_weight(how):
    return lambda w, out, out_g: out.t() @ _around(how)(w, out, out_g)


_MOST_ITERATIONS = 60  # after so many iterations nearly every gradient has converged
_STOPPED = (
    "the gradient goes around the loop too few times; it must go around until it converges",
    ("Does the gradient of `out` still change if you go around the loop once more?",),
)


def _stopped(answer, gradients):
    """Return the gradient, after one number of iterations of several, that is nearest to an answer; the first for None.

    Args:
        gradients: the gradient after one iteration, after two, and so on.
    """
    from itertools import islice

    import numpy as np

    tried = [np.asarray(gradient) for gradient in islice(gradients, 1 if answer is None else _MOST_ITERATIONS)]
    return min(tried, key=lambda gradient: 0.0 if answer is None else np.abs(gradient - answer).max())


def _around_times(w, out, out_g):
    """Yield the gradient of x after going around the loop once, twice, and so on; each of shape (bs, n)."""
    arrived = out_g
    while True:
        arrived = out_g + (_slope(out) * arrived) @ w.t()
        yield _slope(out) * arrived


def _with_slope(slope):
    """Return the rule of the gradient before a tanh with another derivative."""
    return lambda w, out, out_g: slope(out) * _arrived(w, out, out_g, around=slope)


fixed_point_grad = Exercise(
    title="Backwards through a fixed point",
    forward=_fixed_point,
    inputs={"x": normal("bs n"), "w": Sampler("n n", _contracting, differentiable=True), "out": output("bs n")},
    answers=stored("x.g", "w.g"),
    hints={
        "x.g": (
            "`out` is on both sides of its equation. How many paths lead to it, then?",
            "Let u be the total gradient of `out`: `out.g`, plus u passed back once through tanh and `w`.",
            "Either solve that equation for u, or iterate it until u no longer changes.",
        ),
        "w.g": (
            "If `x.g` is right, one product is left. What was `w` multiplied by?",
            "`x` and `out @ w` are added, so both have the same gradient.",
            "`w.g` is the weight gradient of a linear layer whose input is `out` itself.",
        ),
    },
    misconceptions=(
        *(Misconception(code, "x.g", _around(how), says, (hint,)) for code, how, says, hint in _AROUND),
        *(Misconception(code, "w.g", _around_weight(how), says, (hint,)) for code, how, says, hint in _AROUND),
        Misconception("missing-path", "x.g", lambda answer, w, out, out_g: _stopped(
                          answer, _around_times(w, out, out_g)), *_STOPPED),
        Misconception("missing-path", "w.g", lambda answer, w, out, out_g: _stopped(
                          answer, (out.t() @ each for each in _around_times(w, out, out_g))), *_STOPPED),
        Misconception("missing-path", "x.g", lambda w, out, out_g: _slope(out) * (_arrived(w, out, out_g) - out_g),
                      "only the path around the loop is used: the direct path from the loss is missing",
                      ("`out` has two uses. Which of them is not part of the loop?",)),
        Misconception("missing-path", "w.g", lambda w, out, out_g: out.t() @ (
                          _slope(out) * (_arrived(w, out, out_g) - out_g)),
                      "only the path around the loop is used: the direct path from the loss is missing",
                      ("`out` has two uses. Which of them is not part of the loop?",)),
        Misconception("missing-upstream", "x.g", lambda w, out: _slope(out) * _arrived(w, out, out**0),
                      "the factor out.g is missing: your code treats it as 1",
                      ("From which array does your iteration start, and which one does it add in every round?",)),
        Misconception("partial-batch", "x.g", lambda w, out, out_g: _slope(out) * _arrived(
                          w, out, out_g, around=lambda y: _slope(y)[:1].expand_as(y)),
                      "in each iteration, the derivative of tanh in the first row is used in all rows",
                      ("Does every row of `out` have the same derivative?",)),
        Misconception("wrong-local", "x.g", _with_slope(lambda out: 1 - out),
                      "1 - out is used as the derivative of tanh: out is not squared",
                      ("What is the derivative of tanh, in terms of its output?",)),
        Misconception("wrong-local", "w.g", lambda w, out, out_g: out.t() @ _with_slope(lambda y: 1 - y)(w, out, out_g),
                      "1 - out is used as the derivative of tanh: out is not squared",
                      ("What is the derivative of tanh, in terms of its output?",)),
        Misconception("missing-local", "x.g", lambda w, out, out_g: _arrived(w, out, out_g),
                      "this is u, the total gradient of out; it must still be multiplied by the derivative of tanh",
                      ("What lies between `x` and `out`?",)),
        Misconception("missing-local", "w.g", lambda w, out, out_g: out.t() @ _arrived(w, out, out_g),
                      "u, the total gradient of out, is used as it is; it must first be multiplied by the derivative of"
                      " tanh",
                      ("What lies between `out @ w` and `out`?",)),
        Misconception("wrong-operand", "w.g", lambda x, w, out, out_g: x.t() @ _around({})(w, out, out_g),
                      "x is used in place of out: out is multiplied by w in the equation",
                      ("What is `w` multiplied by in the equation?",)),
    ),
)  # fmt: skip
