"""An autograd engine for numbers. The lesson is README.md in this folder."""

import math


class Value:
    """A number that remembers how it was made: yours to write.

    `run_values` below makes one of a plain number, `Value(0.5)`, and uses `v + w`, `v - w`, `v * w`, `v / w`, `v**k`
    (here k is a plain number), `v.exp()`, `v.log()`, `v.tanh()` and `v.relu()`. All else is up to you.
    """

    ### BEGIN SOLUTION
    # With each value stand the values that it was made from, each beside the local derivative: that is the tape.
    def __init__(self, data, uses=()):
        self.data, self.uses, self.grad = data, uses, 0.0

    def __add__(self, other):
        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __sub__(self, other):
        return Value(self.data - other.data, ((self, 1.0), (other, -1.0)))

    def __mul__(self, other):
        return Value(self.data * other.data, ((self, other.data), (other, self.data)))

    def __truediv__(self, other):
        quotient = self.data / other.data
        return Value(quotient, ((self, 1 / other.data), (other, -quotient / other.data)))

    def __pow__(self, k):
        return Value(self.data**k, ((self, k * self.data ** (k - 1)),))

    def exp(self):
        out = math.exp(self.data)
        return Value(out, ((self, out),))

    def log(self):
        return Value(math.log(self.data), ((self, 1 / self.data),))

    def tanh(self):
        out = math.tanh(self.data)
        return Value(out, ((self, 1 - out * out),))

    def relu(self):
        return Value(max(self.data, 0.0), ((self, float(self.data > 0)),))

    def order(self):
        """All values that this one was made from, parents first, and itself as the last."""
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, parents_are_in = waiting.pop()
            if parents_are_in:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting.extend((parent, False) for parent, _ in value.uses)
        return order

    def backward(self):
        """Add to the gradient of every value that this one was made from."""
        self.grad = 1.0
        for value in reversed(self.order()):  # whoever uses a value comes before it: then its gradient is complete
            for parent, slope in value.uses:
                parent.grad += slope * value.grad

    ### END SOLUTION


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
    ### BEGIN SOLUTION
    # The interpreter runs the program forward with values that remember their steps; the backward pass is theirs.
    inputs = [Value(number) for number in x.tolist()]
    run_values(program, inputs).backward()
    return [value.grad for value in inputs]
    ### END SOLUTION
