"""An autograd engine for tensors. The lesson is README.md in this folder."""

import torch


class Tensor:
    """An array that remembers how it was made: yours to write.

    `run_tensors` below uses `v + w`, `v * w`, `v @ w`, `v.sum()`, `v.sum(axis)`, `v.relu()` and `v.softmax()`, which is
    along the last axis. Sums and products broadcast. What it keeps is up to you; a torch tensor can hold the numbers.
    """

    ### BEGIN SOLUTION
    # Each step leaves a function that takes its gradient and returns one for each of the tensors that it used.
    def __init__(self, data, used=(), backward_step=None):
        self.data, self.used, self.backward_step = data, used, backward_step
        self.grad = torch.zeros_like(data)

    def __add__(self, other):
        return Tensor(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other):
        return Tensor(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))

    def __matmul__(self, other):
        return Tensor(self.data @ other.data, (self, other), lambda g: (g @ other.data.t(), self.data.t() @ g))

    def sum(self, axis=None):
        if axis is None:
            return Tensor(self.data.sum(), (self,), lambda g: (g.expand(self.data.shape),))
        return Tensor(self.data.sum(axis), (self,), lambda g: (g.unsqueeze(axis).expand(self.data.shape),))

    def relu(self):
        return Tensor(self.data.clamp_min(0), (self,), lambda g: (g * (self.data > 0),))

    def softmax(self):
        p = self.data.softmax(-1)
        return Tensor(p, (self,), lambda g: (p * (g - (g * p).sum(-1, keepdim=True)),))

    def order(self):
        """All tensors that this one was made from, parents first, and itself as the last."""
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            tensor, parents_are_in = waiting.pop()
            if parents_are_in:
                order.append(tensor)
            elif tensor not in seen:
                seen.add(tensor)
                waiting.append((tensor, True))
                waiting.extend((parent, False) for parent in tensor.used)
        return order

    def backward(self):
        """Add to the gradient of every tensor that this one was made from."""
        self.grad = torch.ones_like(self.data)
        for tensor in reversed(self.order()):
            for parent, g in zip(tensor.used, tensor.backward_step(tensor.grad) if tensor.used else (), strict=True):
                parent.grad += unbroadcast(g, parent.data.shape)

    ### END SOLUTION


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
    ### BEGIN SOLUTION
    # The same engine as for numbers; what is new is in the rules of the steps, and that copies are added up.
    inputs = [Tensor(tensor) for tensor in tensors]
    run_tensors(program, inputs).backward()
    return [tensor.grad for tensor in inputs]
    ### END SOLUTION
