"""An autograd engine for tensors. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


class Tensor:
    """An array that remembers how it was made: yours to write.

    `run_tensors` below uses `v + w`, `v * w`, `v @ w`, `v.sum()`, `v.sum(axis)`, `v.relu()` and `v.softmax()`, which is
    along the last axis. Sums and products broadcast. What it keeps is up to you; a torch tensor can hold the numbers.
    """

    ...


def unbroadcast(g, shape):
    """Add up `g` over every axis along which an array of this shape was copied. It is finished, as in unit 8.

    g: any shape that `shape` broadcasts to
    shape: a tuple
    """
    g = g.sum(tuple(range(g.dim() - len(shape)))) if g.dim() > len(shape) else g
    copied = tuple(i for i, size in enumerate(shape) if size == 1 and g.shape[i] > 1)
    return g.sum(copied, keepdim=True) if copied else g


def run_tensors(program, inputs):
    """Run a program on tensors of yours, and return the last one. It is finished; you may change it."""
    operations = {
        "add": lambda v, w: v + w,
        "mul": lambda v, w: v * w,
        "matmul": lambda v, w: v @ w,
        "relu": lambda v: v.relu(),
        "softmax": lambda v: v.softmax(),
    }
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        else:
            values.append(operations[name](values[first], *(values[i] for i in others)))
    return values[-1]


def tensor_engine(program, tensors):
    """Return the gradient of the last value of a program, a single number, for each of its inputs.

    The program is a list of steps, as in `value_engine`: a name, and the numbers of the values that the step takes. The
    inputs come first. These are the steps there are:

    - ("add", i, j), ("mul", i, j): entry by entry, with broadcasting
    - ("matmul", i, j): the product of two matrices
    - ("sum", i): over all entries, a tensor without axes; ("sum", i, axis): over one axis, which is gone then
    - ("relu", i): entry by entry
    - ("softmax", i): along the last axis

    program: a list of tuples; its last value is a single number
    tensors: a list of tensors; in the checks x: (bs, n), w: (n, m), b: (m,) and c: (bs, 1), in float64
    returns: a list of tensors, a gradient for each input, of its shape; zeros where the last value does not need it
    """
    ...
