"""An autograd engine for numbers. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import math


class Value:
    """A number that remembers how it was made: yours to write.

    `run_values` below makes one of a plain number, `Value(0.5)`, and uses `v + w`, `v - w`, `v * w`, `v / w`, `v**k`
    (here k is a plain number), `v.exp()`, `v.log()`, `v.tanh()` and `v.relu()`. All else is up to you.
    """

    ...


def run_values(program, inputs):
    """Run a program on values of yours, and return the last one. It is finished; you may change it."""
    operations = {
        "add": lambda v, w: v + w,
        "sub": lambda v, w: v - w,
        "mul": lambda v, w: v * w,
        "div": lambda v, w: v / w,
        "exp": lambda v: v.exp(),
        "log": lambda v: v.log(),
        "tanh": lambda v: v.tanh(),
        "relu": lambda v: v.relu(),
    }
    values = list(inputs)
    for name, *operands in program:
        if name == "const":
            values.append(Value(operands[0]))
        elif name == "pow":
            values.append(values[operands[0]] ** operands[1])
        else:
            values.append(operations[name](*(values[i] for i in operands)))
    return values[-1]


def value_engine(program, x):
    """Return the gradient of the last value of a program for each of its inputs.

    A program is a list of steps. A step names an operation and the numbers of the values that it takes: the inputs are
    the values 0 to n - 1, and each step makes the next one. With two inputs, [("mul", 0, 1), ("tanh", 2)] is
    tanh(x[0] * x[1]). These are the steps there are:

    - ("add", i, j), ("sub", i, j), ("mul", i, j), ("div", i, j): of value i and value j
    - ("exp", i), ("log", i), ("tanh", i), ("relu", i): of value i
    - ("pow", i, k): value i to the power k, a number
    - ("const", c): the number c, which is no input

    program: a list of tuples, of any length
    x: (n,), the inputs, in float64
    returns: (n,), or a list of n numbers; 0 for an input that the last value does not depend on
    """
    ...
