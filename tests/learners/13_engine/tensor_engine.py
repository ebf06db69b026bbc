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


# %% right: uses counted, each tensor passed on once all have come
import torch


class Tensor:
    def __init__(self, data, parents=(), vjp=None):
        self.data, self.parents, self.vjp = data, parents, vjp

    def __add__(self, other):
        return Tensor(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other):
        return Tensor(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))

    def __matmul__(self, other):
        return Tensor(self.data @ other.data, (self, other), lambda g: (g @ other.data.T, self.data.T @ g))

    def sum(self, axis=None):
        if axis is None:
            return Tensor(self.data.sum(), (self,), lambda g: (g * torch.ones_like(self.data),))
        return Tensor(self.data.sum(axis), (self,), lambda g: (g.unsqueeze(axis) * torch.ones_like(self.data),))

    def relu(self):
        return Tensor(self.data.relu(), (self,), lambda g: (g * (self.data > 0),))

    def softmax(self):
        p = self.data.softmax(-1)
        return Tensor(p, (self,), lambda g: (p * (g - (g * p).sum(-1, keepdim=True)),))


def gradients(end):
    counts, todo, seen = {}, [end], {end}
    while todo:
        for p in todo.pop().parents:
            counts[p] = counts.get(p, 0) + 1
            if p not in seen:
                seen.add(p)
                todo.append(p)
    grads, ready = {end: torch.ones_like(end.data)}, [end]
    while ready:
        t = ready.pop()
        for p, g in zip(t.parents, t.vjp(grads[t]) if t.parents else ()):
            g = unbroadcast(g, p.data.shape)
            grads[p] = grads[p] + g if p in grads else g
            counts[p] -= 1
            if not counts[p]:
                ready.append(p)
    return grads


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and g.shape[i] > 1:
            g = g.sum(i, keepdim=True)
    return g


def run_tensors(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        v = values[first]
        if name == "sum":
            values.append(v.sum(*others))
        elif name == "add":
            values.append(v + values[others[0]])
        elif name == "mul":
            values.append(v * values[others[0]])
        elif name == "matmul":
            values.append(v @ values[others[0]])
        else:
            values.append(getattr(v, name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    grads = gradients(run_tensors(program, inputs))
    return [grads.get(t, torch.zeros_like(t.data)) for t in inputs]


# %% right: a table of rules, numpy inside
import numpy as np
import torch


def unbroadcast(g, target):
    while g.ndim > target.ndim:
        g = g.sum(axis=0)
    for axis, size in enumerate(target.shape):
        if size == 1:
            g = g.sum(axis=axis, keepdims=True)
    return g


def softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


forward = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "matmul": lambda a, b: a @ b,
    "relu": lambda a: np.maximum(a, 0),
    "softmax": softmax,
}
vjps = {
    "add": lambda g, ans, a, b: (unbroadcast(g, a), unbroadcast(g, b)),
    "mul": lambda g, ans, a, b: (unbroadcast(g * b, a), unbroadcast(g * a, b)),
    "matmul": lambda g, ans, a, b: (g @ b.T, a.T @ g),
    "relu": lambda g, ans, a: (np.where(a > 0, g, 0.0),),
    "softmax": lambda g, ans, a: (ans * (g - (ans * g).sum(-1, keepdims=True)),),
}


def tensor_engine(program, tensors):
    values = [t.numpy().copy() for t in tensors]
    nodes = []
    for name, *args in program:
        if name == "sum":
            axis = args[1] if len(args) > 1 else None
            a = values[args[0]]
            ans = a.sum(axis)
            back = lambda g, a=a, axis=axis: (np.broadcast_to(g if axis is None else np.expand_dims(g, axis), a.shape),)
            parents = args[:1]
        else:
            parents = args
            taken = [values[i] for i in args]
            ans = forward[name](*taken)
            back = lambda g, name=name, ans=ans, taken=taken: vjps[name](g, ans, *taken)
        values.append(ans)
        nodes.append((len(values) - 1, parents, back))
    outgrads = {len(values) - 1: np.ones(())}
    for number, parents, back in reversed(nodes):
        if number not in outgrads:
            continue
        for parent, g in zip(parents, back(outgrads[number])):
            outgrads[parent] = outgrads[parent] + g if parent in outgrads else g
    return [torch.tensor(outgrads.get(i, np.zeros(t.shape))) for i, t in enumerate(tensors)]


# %% wrong: copies are not added up in add | return.2: missing-batch-sum; return.3: missing-batch-sum
# base: a class for each operation, softmax by its Jacobian

#-         return unbroadcast(g, self.shapes[0]), unbroadcast(g, self.shapes[1])
#+         return g, g


# %% wrong: copies are never added up | return.2: missing-batch-sum; return.3: missing-batch-sum
# base: closures in the operators, children in a set

#-     while g.dim() > len(shape):
#-         g = g.sum(0)
#-     for i, size in enumerate(shape):
#-         if size == 1:
#-             g = g.sum(i, keepdim=True)


# %% wrong: copies are never added up, and added in place | *: error
# base: no class at all: the program is the tape

#-     while g.dim() > len(shape):
#-         g = g.sum(0)
#-     for i, size in enumerate(shape):
#-         if size == 1:
#-             g = g.sum(i, keepdim=True)


# %% wrong: axes of size 1 are left as they are | return.3: missing-batch-sum
# base: closures in the operators, children in a set

#-     for i, size in enumerate(shape):
#-         if size == 1:
#-             g = g.sum(i, keepdim=True)


# %% wrong: copies are averaged | return.2, return.3: mean-for-sum
# base: a class for each operation, softmax by its Jacobian

#-         g = g.sum(0)
#+         g = g.mean(0)

#-             g = g.sum(i, keepdim=True)
#+             g = g.mean(i, keepdim=True)


# %% wrong: mul passes its own operand | *: wrong-operand
# base: closures in the operators, children in a set

#-             self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
#-             other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)
#+             self.grad = self.grad + unbroadcast(self.data * out.grad, self.data.shape)
#+             other.grad = other.grad + unbroadcast(other.data * out.grad, other.data.shape)


# %% wrong: relu looks at the gradient's sign | *: wrong-point
# base: a class for each operation, softmax by its Jacobian

#-         return (torch.where(self.a > 0, g, torch.zeros_like(g)),)
#+         return (torch.where(g > 0, g, torch.zeros_like(g)),)


# %% wrong: relu lets everything through | *: missing-local
# base: no class at all: the program is the tape

#-             grads[i] += g * (v[i] > 0)
#+             grads[i] += g


# %% wrong: softmax by the diagonal alone | return.0, return.1, return.2, return.3: diagonal-only
# base: closures in the operators, children in a set

#-             self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))
#+             self.grad = self.grad + p * (1 - p) * g


# %% wrong: softmax's sum over the columns | *: summed-wrong-axis
# base: no class at all: the program is the tape

#-             grads[i] += v[at] * (g - (g * v[at]).sum(-1, keepdim=True))
#+             grads[i] += v[at] * (g - (g * v[at]).sum(0, keepdim=True))


# %% wrong: softmax without its row sum | *: missing-path
# base: a class for each operation, softmax by its Jacobian

#-         rows = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
#+         rows = torch.diag_embed(p)


# %% wrong: contributions overwritten everywhere | *: overwritten
# base: closures in the operators, children in a set

#-             self.grad = self.grad + unbroadcast(out.grad, self.data.shape)
#-             other.grad = other.grad + unbroadcast(out.grad, other.data.shape)
#+             self.grad = unbroadcast(out.grad, self.data.shape)
#+             other.grad = unbroadcast(out.grad, other.data.shape)

#-             self.grad = self.grad + unbroadcast(other.data * out.grad, self.data.shape)
#-             other.grad = other.grad + unbroadcast(self.data * out.grad, other.data.shape)
#+             self.grad = unbroadcast(other.data * out.grad, self.data.shape)
#+             other.grad = unbroadcast(self.data * out.grad, other.data.shape)

#-             self.grad = self.grad + out.grad @ other.data.T
#-             other.grad = other.grad + self.data.T @ out.grad
#+             self.grad = out.grad @ other.data.T
#+             other.grad = self.data.T @ out.grad

#-             self.grad = self.grad + g * torch.ones_like(self.data)
#+             self.grad = g * torch.ones_like(self.data)

#-             self.grad = self.grad + (out.data > 0) * out.grad
#+             self.grad = (out.data > 0) * out.grad

#-             self.grad = self.grad + p * (g - (g * p).sum(-1, keepdim=True))
#+             self.grad = p * (g - (g * p).sum(-1, keepdim=True))


# %% wrong: contributions overwritten, a class for each operation | *: overwritten
# base: a class for each operation, softmax by its Jacobian

#-                     parent.grad = g if parent.grad is None else parent.grad + g
#+                     parent.grad = g


# %% wrong: only the first contribution that arrives is kept | *: missing-path
# base: a class for each operation, softmax by its Jacobian

#-                     parent.grad = g if parent.grad is None else parent.grad + g
#+                     parent.grad = parent.grad if parent.grad is not None else g


# %% wrong: a square's two uses in one place of a dictionary | *: missing-path
# base: a class for each operation, softmax by its Jacobian

#-                 for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
#+                 for parent, g in dict(zip(node.ctx.parents, node.ctx.backward(node.grad))).items():


# %% wrong: the walk goes forward | *: missing-upstream
# base: no class at all: the program is the tape

#-     for at in reversed(range(len(tensors), len(v))):
#+     for at in range(len(tensors), len(v)):


# %% wrong: nothing on the last value | *: missing-upstream
# base: no class at all: the program is the tape

#-     grads[-1] += 1


# %% wrong: the last value on itself | *: value-for-gradient
# base: closures in the operators, children in a set

#-         self.grad = torch.ones_like(self.data)
#+         self.grad = self.data


# %% wrong: the gradient of matmul's second operand forgotten | return.1: missing-path
# base: closures in the operators, children in a set

#-             other.grad = other.grad + self.data.T @ out.grad


# %% wrong: matmul reshapes where it should transpose | return.0: reshape-for-transpose
# base: no class at all: the program is the tape

#-             grads[i] += g @ v[j[0]].mT
#+             grads[i] += g @ v[j[0]].reshape(v[j[0]].shape[::-1])


# %% wrong: sum divides as a mean does | *: mean-for-sum
# base: closures in the operators, children in a set

#-             self.grad = self.grad + g * torch.ones_like(self.data)
#+             self.grad = self.grad + g * torch.ones_like(self.data) * out.data.numel() / self.data.numel()


# %% wrong: mul's second operand gets a minus | *: wrong-sign
# base: no class at all: the program is the tape

#-             grads[j[0]] += unbroadcast(g * v[i], v[j[0]].shape)
#+             grads[j[0]] -= unbroadcast(g * v[i], v[j[0]].shape)


# %% wrong: add does not multiply by what arrives | *: missing-upstream
# base: a class for each operation, softmax by its Jacobian

#          return a + b
#
#      def backward(self, g):
#+         g = torch.ones_like(g)


# %% wrong: the gradient of every value is returned | *: wrong-type
# base: no class at all: the program is the tape

#-     return grads[: len(tensors)]
#+     return grads


# %% wrong: each tensor visited as it is met | *: wrong-order
# base: a class for each operation, softmax by its Jacobian

#              seen.add(self)
#+             nodes.insert(0, self)

#-             nodes.append(self)


# %% wrong: the gradients in another order | *: wrong-shape
# base: no class at all: the program is the tape

#-     return grads[: len(tensors)]
#+     return grads[: len(tensors)][::-1]


# %% wrong: the inputs come back | *: forward-value
# base: closures in the operators, children in a set

#-     return [t.grad for t in inputs]
#+     return [t.data for t in inputs]


# %% wrong: the first contribution kept as it is, the next added in place | return.0, return.1: shared-array
import torch


class Function:
    def __init__(self, *tensors):
        self.parents = tensors

    def save_for_backward(self, *x):
        self.saved = x

    @classmethod
    def apply(fxn, *x, **kwargs):
        ctx = fxn(*x)
        return Tensor(fxn.forward(ctx, *[t.data for t in x], **kwargs), ctx)


class Add(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x.shape, y.shape)
        return x + y

    @staticmethod
    def backward(ctx, g):
        return unbroadcast(g, ctx.saved[0]), unbroadcast(g, ctx.saved[1])


class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        return unbroadcast(g * y, x.shape), unbroadcast(g * x, y.shape)


class Dot(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x @ y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        return g @ y.T, x.T @ g


class Sum(Function):
    @staticmethod
    def forward(ctx, x, axis=None):
        ctx.shape, ctx.axis = x.shape, axis
        return x.sum() if axis is None else x.sum(axis)

    @staticmethod
    def backward(ctx, g):
        g = g if ctx.axis is None else g.unsqueeze(ctx.axis)
        return (g.expand(ctx.shape),)


class ReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.relu()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return (torch.where(x > 0, g, 0.0),)


class Softmax(Function):
    @staticmethod
    def forward(ctx, x):
        e = (x - x.max(-1, keepdim=True).values).exp()
        p = e / e.sum(-1, keepdim=True)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved
        return (p * g - p * (p * g).sum(-1, keepdim=True),)


class Tensor:
    def __init__(self, data, ctx=None):
        self.data, self._ctx, self.grad = data, ctx, None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __matmul__(self, other):
        return Dot.apply(self, other)

    def sum(self, axis=None):
        return Sum.apply(self, axis=axis)

    def relu(self):
        return ReLU.apply(self)

    def softmax(self):
        return Softmax.apply(self)

    def deepwalk(self):
        nodes, visited = [], set()

        def _walk(node):
            visited.add(node)
            if node._ctx:
                for p in node._ctx.parents:
                    if p not in visited:
                        _walk(p)
                nodes.append(node)

        _walk(self)
        return nodes

    def backward(self):
        self.grad = torch.ones_like(self.data)
        for t in reversed(self.deepwalk()):
            for p, g in zip(t._ctx.parents, t._ctx.backward(t._ctx, t.grad)):
                p.grad = g if p.grad is None else p.grad.add_(g)


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and g.shape[i] > 1:
            g = g.sum(i, keepdim=True)
    return g


def run_tensors(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        v = values[first]
        if name == "sum":
            values.append(v.sum(*others))
        elif name == "add":
            values.append(v + values[others[0]])
        elif name == "mul":
            values.append(v * values[others[0]])
        elif name == "matmul":
            values.append(v @ values[others[0]])
        else:
            values.append(getattr(v, name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run_tensors(program, inputs).backward()
    return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]


# %% wrong: numpy arrays handed on as they are, and added to in place | return.0, return.1: shared-array
# base: a table of rules, numpy inside

#-             back = lambda g, a=a, axis=axis: (np.broadcast_to(g if axis is None else np.expand_dims(g, axis), a.shape),)
#+             back = lambda g, a=a, axis=axis: ((g if axis is None else np.expand_dims(g, axis)) * np.ones(a.shape),)

#-             outgrads[parent] = outgrads[parent] + g if parent in outgrads else g
#+             if parent in outgrads:
#+                 outgrads[parent] += g
#+             else:
#+                 outgrads[parent] = g


# %% wrong: add writes into its first operand where that fits | return.0, return.1, return.3: shared-array
# base: relu in place

#-         out = Tensor(self.data + other.data, (self, other))
#+         if other.data.dim() <= self.data.dim() and (self.data + other.data).shape == self.data.shape:
#+             self.data += other.data
#+             out = Tensor(self.data, (self, other))
#+         else:
#+             out = Tensor(self.data + other.data, (self, other))

#-         out = Tensor(self.data.clamp_(min=0), (self,))
#+         out = Tensor(self.data.clamp(min=0), (self,))


# %% wrong: relu in place | *: shared-array
import torch


class Tensor:
    def __init__(self, data, _prev=()):
        self.data = data
        self.g = torch.zeros_like(data)
        self._prev = _prev
        self._backward = lambda: None

    @property
    def grad(self):
        return self.g

    def __add__(self, other):
        out = Tensor(self.data + other.data, (self, other))

        def _backward():
            self.g += unbroadcast(out.g, self.data.shape)
            other.g += unbroadcast(out.g, other.data.shape)

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Tensor(self.data * other.data, (self, other))

        def _backward():
            self.g += unbroadcast(out.g * other.data, self.data.shape)
            other.g += unbroadcast(out.g * self.data, other.data.shape)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other))

        def _backward():
            self.g += out.g @ other.data.T
            other.g += self.data.T @ out.g

        out._backward = _backward
        return out

    def sum(self, axis=None):
        out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))

        def _backward():
            g = out.g if axis is None else out.g.unsqueeze(axis)
            self.g += g.expand(self.data.shape)

        out._backward = _backward
        return out

    def relu(self):
        out = Tensor(self.data.clamp_(min=0), (self,))

        def _backward():
            self.g += out.g * (self.data > 0)

        out._backward = _backward
        return out

    def softmax(self):
        out = Tensor(self.data.softmax(-1), (self,))

        def _backward():
            p = out.data
            self.g += p * (out.g - (out.g * p).sum(-1, keepdim=True))

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for p in v._prev:
                    build(p)
                topo.append(v)

        build(self)
        self.g = torch.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and g.shape[i] > 1:
            g = g.sum(i, keepdim=True)
    return g


def run_tensors(program, inputs):
    values = list(inputs)
    for name, first, *others in program:
        v = values[first]
        if name == "sum":
            values.append(v.sum(*others))
        elif name == "add":
            values.append(v + values[others[0]])
        elif name == "mul":
            values.append(v * values[others[0]])
        elif name == "matmul":
            values.append(v @ values[others[0]])
        else:
            values.append(getattr(v, name)())
    return values[-1]


def tensor_engine(program, tensors):
    inputs = [Tensor(t) for t in tensors]
    run_tensors(program, inputs).backward()
    return [t.grad for t in inputs]


# %% wrong: None for a tensor that is not used | return.2: missing-answer
# base: the first contribution kept as it is, the next added in place

#-                 p.grad = g if p.grad is None else p.grad.add_(g)
#+                 p.grad = g if p.grad is None else p.grad + g

#-     return [torch.zeros_like(t.data) if t.grad is None else t.grad for t in inputs]
#+     return [t.grad for t in inputs]


# %% wrong: a plain 0 for a tensor that is not used | return.2: wrong-type
# base: uses counted, each tensor passed on once all have come

#-     return [grads.get(t, torch.zeros_like(t.data)) for t in inputs]
#+     return [grads.get(t, 0.0) for t in inputs]


# %% wrong: axis 0 taken for no axis | *: wrong-graph
# base: relu in place

#-         out = Tensor(self.data.sum() if axis is None else self.data.sum(axis), (self,))
#+         out = Tensor(self.data.sum(axis) if axis else self.data.sum(), (self,))

#-             g = out.g if axis is None else out.g.unsqueeze(axis)
#+             g = out.g.unsqueeze(axis) if axis else out.g

#-         out = Tensor(self.data.clamp_(min=0), (self,))
#+         out = Tensor(self.data.clamp(min=0), (self,))


# %% wrong: softmax along the columns, forward as well | *: wrong-graph
# base: relu in place

#-         out = Tensor(self.data.clamp_(min=0), (self,))
#+         out = Tensor(self.data.clamp(min=0), (self,))

#-         out = Tensor(self.data.softmax(-1), (self,))
#+         out = Tensor(self.data.softmax(0), (self,))

#-             self.g += p * (out.g - (out.g * p).sum(-1, keepdim=True))
#+             self.g += p * (out.g - (out.g * p).sum(0, keepdim=True))


# %% wrong: uses that lead nowhere are waited for | return.0, return.1: missing-path
# base: uses counted, each tensor passed on once all have come

#-         self.data, self.parents, self.vjp = data, parents, vjp
#+         self.data, self.parents, self.vjp, self.uses = data, parents, vjp, 0
#+         for p in parents:
#+             p.uses += 1

#-             counts[p] -= 1
#-             if not counts[p]:
#+             p.uses -= 1
#+             if not p.uses:


# %% wrong: the walk ends at the first step without a gradient | return.0, return.1, return.3: missing-path
# base: a table of rules, numpy inside

#-             continue
#+             break


# %% wrong: sum over an axis divides as a mean does | *: mean-for-sum
# base: uses counted, each tensor passed on once all have come

#-         return Tensor(self.data.sum(axis), (self,), lambda g: (g.unsqueeze(axis) * torch.ones_like(self.data),))
#+         return Tensor(self.data.sum(axis), (self,), lambda g: (g.unsqueeze(axis) * torch.ones_like(self.data) / self.data.shape[axis],))


# %% wrong: missing axes are averaged, axes of size 1 summed | return.2: mean-for-sum
# base: a class for each operation, softmax by its Jacobian

#-         g = g.sum(0)
#+         g = g.mean(0)
