# tensor_engine: the gradient of a program's last value for each tensor

# %% right: closures in the operators, children in a set
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T
            other.grad = other.grad + self.data.T @ out.grad

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = self.grad + g * torch.ones_like(self.data)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = self.grad + (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.grad for t in inputs]


# %% right: a class for each operation, softmax by its Jacobian
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(self.a > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
            nodes.append(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                    parent.grad = g if parent.grad is None else parent.grad + g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% right: no class at all: the program is the tape
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    grads[-1] += 1
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].mT
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
    return grads[: len(tensors)]


# %% right: numpy inside, tensors outside
import numpy as np
import torch


def unbroadcast(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdims=True)
    return g


def tensor_engine(program, tensors):
    v = [t.numpy().copy() for t in tensors]
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(np.maximum(v[i], 0))
        else:
            e = np.exp(v[i])
            v.append(e / e.sum(-1, keepdims=True))
    grads = [np.zeros_like(np.asarray(t)) for t in v]
    grads[-1] = np.ones(())
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].T
            grads[j[0]] += v[i].T @ g
        elif name == "sum":
            grads[i] += np.expand_dims(g, j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdims=True))
    return [torch.from_numpy(g) for g in grads[: len(tensors)]]


# %% wrong: copies are not added up in add | return.2: missing-batch-sum; return.3: missing-batch-sum
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        return g, g


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(self.a > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
            nodes.append(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                    parent.grad = g if parent.grad is None else parent.grad + g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: copies are never added up | return.2: missing-batch-sum; return.3: missing-batch-sum
import torch


def unbroadcast(g, shape):
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T
            other.grad = other.grad + self.data.T @ out.grad

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = self.grad + g * torch.ones_like(self.data)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = self.grad + (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.grad for t in inputs]


# %% wrong: copies are never added up, and added in place | *: error
import torch


def unbroadcast(g, shape):
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    grads[-1] += 1
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].mT
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
    return grads[: len(tensors)]


# %% wrong: axes of size 1 are left as they are | return.3: missing-batch-sum
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T
            other.grad = other.grad + self.data.T @ out.grad

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = self.grad + g * torch.ones_like(self.data)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = self.grad + (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.grad for t in inputs]


# %% wrong: copies are averaged | return.2, return.3: mean-for-sum
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(self.a > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
            nodes.append(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                    parent.grad = g if parent.grad is None else parent.grad + g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.mean(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.mean(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: mul passes its own operand | *: wrong-operand
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(self.data * out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(other.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T
            other.grad = other.grad + self.data.T @ out.grad

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = self.grad + g * torch.ones_like(self.data)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = self.grad + (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.grad for t in inputs]


# %% wrong: relu looks at the gradient's sign | *: inverted-mask
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(g > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
            nodes.append(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                    parent.grad = g if parent.grad is None else parent.grad + g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: relu lets everything through | *: missing-local
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    grads[-1] += 1
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].mT
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
    return grads[: len(tensors)]


# %% wrong: softmax by the diagonal alone | return.0, return.1, return.2, return.3: diagonal-only
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T
            other.grad = other.grad + self.data.T @ out.grad

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = self.grad + g * torch.ones_like(self.data)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = self.grad + (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = self.grad + p * (1 - p) * g

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.grad for t in inputs]


# %% wrong: softmax's sum over the columns | *: summed-wrong-axis
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    grads[-1] += 1
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].mT
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(0, keepdim=True))
    return grads[: len(tensors)]


# %% wrong: softmax without its row sum | *: missing-path
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(self.a > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
            nodes.append(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                    parent.grad = g if parent.grad is None else parent.grad + g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: contributions overwritten everywhere | *: overwritten
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = unbroadcast(out.grad, self.data.shape)
            other.grad = unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = unbroadcast(other.data * out.grad, self.data.shape)
            other.grad = unbroadcast(self.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = out.grad @ other.data.T
            other.grad = self.data.T @ out.grad

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = g * torch.ones_like(self.data)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = p * (g - (g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.grad for t in inputs]


# %% wrong: contributions overwritten, a class for each operation | *: overwritten
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(self.a > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
            nodes.append(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                    parent.grad = g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: only the first contribution that arrives is kept | *: missing-path
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(self.a > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
            nodes.append(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                    parent.grad = parent.grad if parent.grad is not None else g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: a square's two uses in one place of a dictionary | *: missing-path
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(self.a > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
            nodes.append(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in dict(zip(node.ctx.parents, node.ctx.backward(node.grad))).items():
                    parent.grad = g if parent.grad is None else parent.grad + g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: the walk goes forward | *: missing-upstream
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    grads[-1] += 1
    for at in range(len(tensors), len(v)):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].mT
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
    return grads[: len(tensors)]


# %% wrong: nothing on the last value | *: missing-upstream
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].mT
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
    return grads[: len(tensors)]


# %% wrong: the last value on itself | *: value-for-gradient
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T
            other.grad = other.grad + self.data.T @ out.grad

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = self.grad + g * torch.ones_like(self.data)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = self.grad + (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = self.data
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.grad for t in inputs]


# %% wrong: the gradient of matmul's second operand forgotten | return.1: missing-path
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = self.grad + g * torch.ones_like(self.data)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = self.grad + (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.grad for t in inputs]


# %% wrong: matmul reshapes where it should transpose | return.0: reshape-for-transpose
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    grads[-1] += 1
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].reshape(v[j[0]].shape[::-1])
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
    return grads[: len(tensors)]


# %% wrong: sum divides as a mean does | *: mean-for-sum
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T
            other.grad = other.grad + self.data.T @ out.grad

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = self.grad + g * torch.ones_like(self.data) * out.data.numel() / self.data.numel()

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = self.grad + (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.grad for t in inputs]


# %% wrong: mul's second operand gets a minus | *: wrong-sign
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    grads[-1] += 1
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] -= unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].mT
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
    return grads[: len(tensors)]


# %% wrong: add does not multiply by what arrives | *: missing-upstream
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        g = torch.ones_like(g)
        return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(self.a > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
            nodes.append(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                    parent.grad = g if parent.grad is None else parent.grad + g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: the gradient of every value is returned | *: wrong-type
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    grads[-1] += 1
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].mT
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
    return grads


# %% wrong: each tensor visited as it is met | *: wrong-order
import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Tensor(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, g):
        return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a * b

    def backward(self, g):
        a, b = self.saved
        return unbroadcast(b * g, a.shape), unbroadcast(a * g, b.shape)


class MatMul(Function):
    def forward(self, a, b):
        self.saved = a, b
        return a.matmul(b)

    def backward(self, g):
        a, b = self.saved
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)


class Sum(Function):
    def forward(self, a, axis=None):
        self.shape, self.axis = a.shape, axis
        return a.sum() if axis is None else a.sum(axis)

    def backward(self, g):
        if self.axis is not None:
            g = g.unsqueeze(self.axis)
        return (g.expand(self.shape),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return torch.where(a > 0, a, torch.zeros_like(a))

    def backward(self, g):
        return (torch.where(self.a > 0, g, torch.zeros_like(g)),)


class Softmax(Function):
    def forward(self, a):
        self.p = torch.softmax(a, -1)
        return self.p

    def backward(self, g):
        p = self.p
        rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return ((rows @ g.unsqueeze(-1)).squeeze(-1),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return Relu.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def walk(self, nodes, seen):
        if self not in seen:
            seen.add(self)
            nodes.insert(0, self)
            for parent in self.ctx.parents if self.ctx else ():
                parent.walk(nodes, seen)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for node in reversed(self.walk([], set())):
            if node.ctx is not None:
                for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                    parent.grad = g if parent.grad is None else parent.grad + g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: the gradients in another order | *: wrong-shape
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


def tensor_engine(program, tensors):
    v = list(tensors)
    for name, i, *j in program:
        if name == "add":
            v.append(v[i] + v[j[0]])
        elif name == "mul":
            v.append(v[i] * v[j[0]])
        elif name == "matmul":
            v.append(v[i] @ v[j[0]])
        elif name == "sum":
            v.append(v[i].sum(*j))
        elif name == "relu":
            v.append(v[i].clamp(min=0))
        else:
            v.append(v[i].softmax(-1))
    grads = [torch.zeros_like(t) for t in v]
    grads[-1] += 1
    for at in reversed(range(len(tensors), len(v))):
        name, i, *j = program[at - len(tensors)]
        g = grads[at]
        if name == "add":
            grads[i] += unbroadcast(g, v[i].shape)
            grads[j[0]] += unbroadcast(g, v[j[0]].shape)
        elif name == "mul":
            grads[i] += unbroadcast(g * v[j[0]], v[i].shape)
            grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
        elif name == "matmul":
            grads[i] += g @ v[j[0]].mT
            grads[j[0]] += v[i].mT @ g
        elif name == "sum":
            grads[i] += g.unsqueeze(j[0]) if j else g
        elif name == "relu":
            grads[i] += g * (v[i] > 0)
        else:
            grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
    return grads[: len(tensors)][::-1]


# %% wrong: the inputs come back | *: forward-value
import torch


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


class Tensor:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = torch.zeros_like(data)
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
            other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T
            other.grad = other.grad + self.data.T @ out.grad

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.grad if axis is None else out.grad.unsqueeze(axis)
            self.grad = self.grad + g * torch.ones_like(self.data)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.relu(), (self,))

        def _backward():
            self.grad = self.grad + (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def softmax(self):
        e = (self.data - self.data.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        out = Tensor(p, (self,))

        def _backward():
            g = out.grad
            self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        if name == "sum":
            values.append(values[first].sum(*others))
        elif name == "add":
            values.append(values[first] + values[others[0]])
        elif name == "mul":
            values.append(values[first] * values[others[0]])
        elif name == "matmul":
            values.append(values[first] @ values[others[0]])
        else:
            values.append(getattr(values[first], name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run(program, inputs).backward()
    return [t.data for t in inputs]
