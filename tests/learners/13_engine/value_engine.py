# value_engine: the gradient of a program's last value for each input

# %% right: closures in the operators, children in a set, a recursion with room
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)


# %% right: a class for each operation, sorted by when they were made
import math

import torch


class Function:
    def __init__(self, *parents):
        self.parents = parents

    @classmethod
    def apply(cls, *parents, **options):
        ctx = cls(*parents)
        return Scalar(ctx.forward(*(p.data for p in parents), **options), ctx)


class Add(Function):
    def forward(self, a, b):
        return a + b

    def backward(self, g):
        return g, g


class Sub(Function):
    def forward(self, a, b):
        return a - b

    def backward(self, g):
        return g, -g


class Mul(Function):
    def forward(self, a, b):
        self.a, self.b = a, b
        return a * b

    def backward(self, g):
        return self.b * g, self.a * g


class Div(Function):
    def forward(self, a, b):
        self.a, self.b = a, b
        return a / b

    def backward(self, g):
        return g / self.b, -g * self.a / self.b**2


class Pow(Function):
    def forward(self, a, k):
        self.a, self.k = a, k
        return a**k

    def backward(self, g):
        return (g * self.k * self.a ** (self.k - 1),)


class Exp(Function):
    def forward(self, a):
        self.out = math.exp(a)
        return self.out

    def backward(self, g):
        return (g * self.out,)


class Log(Function):
    def forward(self, a):
        self.a = a
        return math.log(a)

    def backward(self, g):
        return (g / self.a,)


class Tanh(Function):
    def forward(self, a):
        self.out = math.tanh(a)
        return self.out

    def backward(self, g):
        return (g * (1 - self.out**2),)


class Relu(Function):
    def forward(self, a):
        self.a = a
        return max(a, 0.0)

    def backward(self, g):
        return (g if self.a > 0 else 0.0,)


class Scalar:
    made = 0

    def __init__(self, data, ctx=None):
        self.data, self.ctx, self.grad = data, ctx, None
        Scalar.made += 1
        self.number = Scalar.made

    def __add__(self, other):
        return Add.apply(self, other)

    def __sub__(self, other):
        return Sub.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __truediv__(self, other):
        return Div.apply(self, other)

    def __pow__(self, k):
        return Pow.apply(self, k=k)

    def exp(self):
        return Exp.apply(self)

    def log(self):
        return Log.apply(self)

    def tanh(self):
        return Tanh.apply(self)

    def relu(self):
        return Relu.apply(self)

    def deepwalk(self):
        found, stack = {self}, [self]
        while stack:
            node = stack.pop()
            for parent in node.ctx.parents if node.ctx else ():
                if parent not in found:
                    found.add(parent)
                    stack.append(parent)
        return sorted(found, key=lambda node: node.number)

    def backward(self):
        self.grad = 1.0
        for node in reversed(self.deepwalk()):
            if node.ctx is None:
                continue
            for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
                parent.grad = g if parent.grad is None else parent.grad + g


def run(program, inputs, Value):
    values = list(inputs)
    for name, *args in program:
        if name == "const":
            values.append(Value(args[0]))
        elif name == "pow":
            values.append(values[args[0]] ** args[1])
        elif name in ("add", "sub", "mul", "div"):
            a, b = values[args[0]], values[args[1]]
            values.append({"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "div": lambda: a / b}[name]())
        else:
            values.append(getattr(values[args[0]], name)())
    return values[-1]


def value_engine(program, x):
    inputs = [Scalar(number) for number in x.tolist()]
    run(program, inputs, Scalar).backward()
    return torch.tensor([v.grad or 0.0 for v in inputs], dtype=x.dtype)


# %% right: no class at all: the program is the tape
import math


def value_engine(program, x):
    v, n = x.tolist(), len(x)
    for name, *i in program:
        if name == "const":
            v.append(i[0])
        elif name == "pow":
            v.append(v[i[0]] ** i[1])
        elif name == "add":
            v.append(v[i[0]] + v[i[1]])
        elif name == "sub":
            v.append(v[i[0]] - v[i[1]])
        elif name == "mul":
            v.append(v[i[0]] * v[i[1]])
        elif name == "div":
            v.append(v[i[0]] / v[i[1]])
        elif name == "relu":
            v.append(max(0.0, v[i[0]]))
        else:
            v.append(getattr(math, name)(v[i[0]]))
    g = [0.0] * len(v)
    g[-1] = 1.0
    for at in range(len(v) - 1, n - 1, -1):
        name, *i = program[at - n]
        up = g[at]
        if name in ("add", "sub"):
            g[i[0]] += up
            g[i[1]] += up if name == "add" else -up
        elif name == "mul":
            g[i[0]] += up * v[i[1]]
            g[i[1]] += up * v[i[0]]
        elif name == "div":
            g[i[0]] += up / v[i[1]]
            g[i[1]] -= up * v[at] / v[i[1]]
        elif name == "pow":
            g[i[0]] += up * i[1] * v[i[0]] ** (i[1] - 1)
        elif name == "exp":
            g[i[0]] += up * v[at]
        elif name == "log":
            g[i[0]] += up / v[i[0]]
        elif name == "tanh":
            g[i[0]] += up * (1 - v[at] * v[at])
        elif name == "relu" and v[i[0]] > 0:
            g[i[0]] += up
    return g[:n]


# %% right: forward mode, all inputs at once
import math

import torch


class Dual:
    """A value with its derivatives for all inputs: forward mode."""

    def __init__(self, data, d=0.0):
        self.data, self.d = data, d

    def __add__(self, o):
        return Dual(self.data + o.data, self.d + o.d)

    def __sub__(self, o):
        return Dual(self.data - o.data, self.d - o.d)

    def __mul__(self, o):
        return Dual(self.data * o.data, self.d * o.data + self.data * o.d)

    def __truediv__(self, o):
        return Dual(self.data / o.data, (self.d * o.data - self.data * o.d) / o.data**2)

    def __pow__(self, k):
        return Dual(self.data**k, k * self.data ** (k - 1) * self.d)

    def exp(self):
        return Dual(math.exp(self.data), math.exp(self.data) * self.d)

    def log(self):
        return Dual(math.log(self.data), self.d / self.data)

    def tanh(self):
        return Dual(math.tanh(self.data), self.d / math.cosh(self.data) ** 2)

    def relu(self):
        return self if self.data > 0 else Dual(0.0)


def run(program, inputs, Value):
    values = list(inputs)
    for name, *args in program:
        if name == "const":
            values.append(Value(args[0]))
        elif name == "pow":
            values.append(values[args[0]] ** args[1])
        elif name in ("add", "sub", "mul", "div"):
            a, b = values[args[0]], values[args[1]]
            values.append({"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "div": lambda: a / b}[name]())
        else:
            values.append(getattr(values[args[0]], name)())
    return values[-1]


def value_engine(program, x):
    rows = torch.eye(len(x), dtype=x.dtype)
    out = run(program, [Dual(number, row) for number, row in zip(x.tolist(), rows)], Dual)
    return out.d


# %% right: each contribution followed alone, without an order
import math


def value_engine(program, x):
    v, n = x.tolist(), len(x)
    for name, *i in program:
        if name == "const":
            v.append(i[0])
        elif name == "pow":
            v.append(v[i[0]] ** i[1])
        elif name == "add":
            v.append(v[i[0]] + v[i[1]])
        elif name == "sub":
            v.append(v[i[0]] - v[i[1]])
        elif name == "mul":
            v.append(v[i[0]] * v[i[1]])
        elif name == "div":
            v.append(v[i[0]] / v[i[1]])
        elif name == "relu":
            v.append(max(0.0, v[i[0]]))
        else:
            v.append(getattr(math, name)(v[i[0]]))
    g = [0.0] * n
    waiting = [(len(v) - 1, 1.0)]
    while waiting:
        at, up = waiting.pop()
        if at < n:
            g[at] += up
            continue
        name, *i = program[at - n]
        if name in ("add", "sub"):
            waiting += [(i[0], up), (i[1], up if name == "add" else -up)]
        elif name == "mul":
            waiting += [(i[0], up * v[i[1]]), (i[1], up * v[i[0]])]
        elif name == "div":
            waiting += [(i[0], up / v[i[1]]), (i[1], -up * v[i[0]] / v[i[1]] ** 2)]
        elif name == "pow":
            waiting.append((i[0], up * i[1] * v[at] / v[i[0]]))
        elif name == "exp":
            waiting.append((i[0], up * v[at]))
        elif name == "log":
            waiting.append((i[0], up / v[i[0]]))
        elif name == "tanh":
            waiting.append((i[0], up - up * v[at] ** 2))
        elif name == "relu":
            waiting.append((i[0], up * float(v[i[0]] > 0)))
    return g


# %% right: uses counted, each value passed on once all have come
import math
from collections import deque


class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.data = data
        self.parents = parents
        self.slopes = slopes
        self.grad = 0.0

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __sub__(self, other):
        return Value(self.data - other.data, (self, other), (1.0, -1.0))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __truediv__(self, other):
        return Value(self.data / other.data, (self, other), (1 / other.data, -self.data / other.data**2))

    def __pow__(self, k):
        return Value(self.data**k, (self,), (k * self.data ** (k - 1),))

    def exp(self):
        e = math.exp(self.data)
        return Value(e, (self,), (e,))

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t * t,))

    def relu(self):
        return Value(max(self.data, 0.0), (self,), (1.0 if self.data > 0 else 0.0,))

    def backward(self):
        uses, todo, seen = {}, [self], {id(self)}
        while todo:
            v = todo.pop()
            for p in v.parents:
                uses[id(p)] = uses.get(id(p), 0) + 1
                if id(p) not in seen:
                    seen.add(id(p))
                    todo.append(p)
        self.grad = 1.0
        ready = deque([self])
        while ready:
            v = ready.popleft()
            for p, slope in zip(v.parents, v.slopes):
                p.grad += slope * v.grad
                uses[id(p)] -= 1
                if uses[id(p)] == 0:
                    ready.append(p)


def run(program, inputs):
    values = list(inputs)
    for name, *taken in program:
        if name == "const":
            values.append(Value(taken[0]))
        elif name == "pow":
            values.append(values[taken[0]] ** taken[1])
        elif name in ("add", "sub", "mul", "div"):
            v, w = values[taken[0]], values[taken[1]]
            values.append({"add": lambda: v + w, "sub": lambda: v - w, "mul": lambda: v * w, "div": lambda: v / w}[name]())
        else:
            values.append(getattr(values[taken[0]], name)())
    return values[-1]


def value_engine(program, x):
    inputs = [Value(v) for v in x.tolist()]
    run(program, inputs).backward()
    return [v.grad for v in inputs]


# %% right: generations and a heap
# base: uses counted, each value passed on once all have come

#- from collections import deque
#+ import heapq

#          self.grad = 0.0
#+         self.generation = max([p.generation for p in parents], default=-1) + 1

#-         uses, todo, seen = {}, [self], {id(self)}
#-         while todo:
#-             v = todo.pop()
#-             for p in v.parents:
#-                 uses[id(p)] = uses.get(id(p), 0) + 1
#-                 if id(p) not in seen:
#-                     seen.add(id(p))
#-                     todo.append(p)
#          self.grad = 1.0
#-         ready = deque([self])
#-         while ready:
#-             v = ready.popleft()
#+         heap, seen, tick = [(-self.generation, 0, self)], {self}, 1
#+         while heap:
#+             _, _, v = heapq.heappop(heap)

#-                 uses[id(p)] -= 1
#-                 if uses[id(p)] == 0:
#-                     ready.append(p)
#+                 if p not in seen:
#+                     seen.add(p)
#+                     heapq.heappush(heap, (-p.generation, tick, p))
#+                     tick += 1


# %% wrong: a recursion without room for it | return: error
import math


class Value:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = 0.0
        self._backward = lambda: None
        self._prev = set(children)

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, k):
        out = Value(self.data**k, (self,))

        def _backward():
            self.grad += k * self.data ** (k - 1) * out.grad

        out._backward = _backward
        return out

    def __neg__(self):
        return self * Value(-1.0)

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return self * other**-1

    def exp(self):
        out = Value(math.exp(self.data), (self,))

        def _backward():
            self.grad += out.data * out.grad

        out._backward = _backward
        return out

    def log(self):
        out = Value(math.log(self.data), (self,))

        def _backward():
            self.grad += out.grad / self.data

        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,))

        def _backward():
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def relu(self):
        out = Value(0.0 if self.data < 0 else self.data, (self,))

        def _backward():
            self.grad += (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build_topo(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build_topo(child)
                topo.append(v)

        build_topo(self)
        self.grad = 1.0
        for v in reversed(topo):
            v._backward()


def run(program, inputs, Value):
    values = list(inputs)
    for name, *args in program:
        if name == "const":
            values.append(Value(args[0]))
        elif name == "pow":
            values.append(values[args[0]] ** args[1])
        elif name in ("add", "sub", "mul", "div"):
            a, b = values[args[0]], values[args[1]]
            values.append({"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "div": lambda: a / b}[name]())
        else:
            values.append(getattr(values[args[0]], name)())
    return values[-1]


def value_engine(program, x):
    inputs = [Value(number) for number in x.tolist()]
    run(program, inputs, Value).backward()
    return [v.grad for v in inputs]


# %% wrong: a recursion without room, and the slope of tanh at its input | return: wrong-point
# base: a recursion without room for it

#-             self.grad += (1 - t**2) * out.grad
#+             self.grad += (1 - self.data**2) * out.grad


# %% wrong: tanh's slope at its input, in closures | return: wrong-point
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-             self.grad += (1 - t**2) * out.grad
#+             self.grad += (1 - self.data**2) * out.grad


# %% wrong: mul passes each operand its own value, and so sub and div do | return: wrong-operand
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-             self.grad += other.data * out.grad
#-             other.grad += self.data * out.grad
#+             self.grad += self.data * out.grad
#+             other.grad += other.data * out.grad


# %% wrong: mul passes each operand its own value, div is a class of its own | return: wrong-operand
# base: a class for each operation, sorted by when they were made

#-         return self.b * g, self.a * g
#+         return self.a * g, self.b * g


# %% wrong: the second operand of div lacks its minus | return: wrong-sign
# base: a class for each operation, sorted by when they were made

#-         return g / self.b, -g * self.a / self.b**2
#+         return g / self.b, g * self.a / self.b**2


# %% wrong: div divides by the operand, not by its square | return: wrong-local
# base: a class for each operation, sorted by when they were made

#-         return g / self.b, -g * self.a / self.b**2
#+         return g / self.b, -g * self.a / self.b


# %% wrong: sub hands its second operand a plus | return: wrong-sign
# base: a class for each operation, sorted by when they were made

#-         return g, -g
#+         return g, g


# %% wrong: contributions overwritten in every closure | return: overwritten
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-             self.grad += out.grad
#-             other.grad += out.grad
#+             self.grad = out.grad
#+             other.grad = out.grad

#-             self.grad += other.data * out.grad
#-             other.grad += self.data * out.grad
#+             self.grad = other.data * out.grad
#+             other.grad = self.data * out.grad

#-             self.grad += k * self.data ** (k - 1) * out.grad
#+             self.grad = k * self.data ** (k - 1) * out.grad

#-             self.grad += out.data * out.grad
#+             self.grad = out.data * out.grad

#-             self.grad += out.grad / self.data
#+             self.grad = out.grad / self.data

#-             self.grad += (1 - t**2) * out.grad
#+             self.grad = (1 - t**2) * out.grad

#-             self.grad += (out.data > 0) * out.grad
#+             self.grad = (out.data > 0) * out.grad


# %% wrong: contributions overwritten, a class for each operation | return: overwritten
# base: a class for each operation, sorted by when they were made

#-                 parent.grad = g if parent.grad is None else parent.grad + g
#+                 parent.grad = g


# %% wrong: contributions overwritten on the tape, from zeros | return: overwritten
import math


def value_engine(program, x):
    v, n = x.tolist(), len(x)
    for name, *i in program:
        if name == "const":
            v.append(i[0])
        elif name == "pow":
            v.append(v[i[0]] ** i[1])
        elif name == "add":
            v.append(v[i[0]] + v[i[1]])
        elif name == "sub":
            v.append(v[i[0]] - v[i[1]])
        elif name == "mul":
            v.append(v[i[0]] * v[i[1]])
        elif name == "div":
            v.append(v[i[0]] / v[i[1]])
        elif name == "relu":
            v.append(max(0.0, v[i[0]]))
        else:
            v.append(getattr(math, name)(v[i[0]]))
    g = [0.0] * len(v)
    g[-1] = 1.0
    for at in range(len(v) - 1, n - 1, -1):
        name, *i = program[at - n]
        up = g[at]
        if name in ("add", "sub"):
            g[i[0]] = up
            g[i[1]] = up if name == "add" else -up
        elif name == "mul":
            g[i[0]] = up * v[i[1]]
            g[i[1]] = up * v[i[0]]
        elif name == "div":
            g[i[0]] = up / v[i[1]]
            g[i[1]] = -up * v[at] / v[i[1]]
        elif name == "pow":
            g[i[0]] = up * i[1] * v[i[0]] ** (i[1] - 1)
        elif name == "exp":
            g[i[0]] = up * v[at]
        elif name == "log":
            g[i[0]] = up / v[i[0]]
        elif name == "tanh":
            g[i[0]] = up * (1 - v[at] * v[at])
        elif name == "relu" and v[i[0]] > 0:
            g[i[0]] = up
    return g[:n]


# %% wrong: contributions overwritten in add alone | return: overwritten
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-             self.grad += out.grad
#-             other.grad += out.grad
#+             self.grad = out.grad
#+             other.grad = out.grad


# %% wrong: only the first contribution is kept | return: missing-path
# base: a class for each operation, sorted by when they were made

#-                 parent.grad = g if parent.grad is None else parent.grad + g
#+                 parent.grad = g if parent.grad is None else parent.grad


# %% wrong: a dictionary of parents, in which a square has one | return: missing-path
# base: a class for each operation, sorted by when they were made

#-             for parent, g in zip(node.ctx.parents, node.ctx.backward(node.grad)):
#+             for parent, g in dict(zip(node.ctx.parents, node.ctx.backward(node.grad))).items():


# %% wrong: calls in calls: each passes on all it has whenever something arrives | return: wrong-order
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-         self._prev = set(children)
#+         self._prev = list(children)

#-         topo, visited = [], set()
#-
#-         def build_topo(v):
#-             if v not in visited:
#-                 visited.add(v)
#-                 for child in v._prev:
#-                     build_topo(child)
#-                 topo.append(v)
#-
#-         build_topo(self)
#          self.grad = 1.0
#-         for v in reversed(topo):
#+         waiting = [self]
#+         while waiting:
#+             v = waiting.pop()
#              v._backward()
#+             waiting.extend(reversed(v._prev))


# %% wrong: breadth first, each value once | return: wrong-order
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-         self._prev = set(children)
#+         self._prev = children

#-         topo, visited = [], set()
#-
#-         def build_topo(v):
#-             if v not in visited:
#-                 visited.add(v)
#-                 for child in v._prev:
#-                     build_topo(child)
#-                 topo.append(v)
#-
#-         build_topo(self)
#          self.grad = 1.0
#-         for v in reversed(topo):
#+         queue, visited = [self], set()
#+         while queue:
#+             v = queue.pop(0)
#+             if v in visited:
#+                 continue
#+             visited.add(v)
#              v._backward()
#+             queue.extend(v._prev)


# %% wrong: the order is not turned round | return: wrong-order
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-         for v in reversed(topo):
#+         for v in topo:


# %% wrong: the tape is walked forward | return: wrong-order
# base: no class at all: the program is the tape

#-     for at in range(len(v) - 1, n - 1, -1):
#+     for at in range(n, len(v)):


# %% wrong: nothing put on the last value | return: missing-upstream
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-         self.grad = 1.0


# %% wrong: the last value itself as the first gradient | return: value-for-gradient
# base: no class at all: the program is the tape

#-     g[-1] = 1.0
#+     g[-1] = v[-1]


# %% wrong: every gradient begins at 1 | return: hard-coded
# base: no class at all: the program is the tape

#-     g = [0.0] * len(v)
#+     g = [1.0] * len(v)


# %% wrong: exp hands on its derivative without the upstream | return: missing-upstream
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-             self.grad += out.data * out.grad
#+             self.grad += out.data


# %% wrong: no step multiplies by the upstream | return: missing-upstream
# base: no class at all: the program is the tape

#-         up = g[at]
#+         up = 1.0


# %% wrong: log divides by its output | return: wrong-point
# base: no class at all: the program is the tape

#-             g[i[0]] += up / v[i[0]]
#+             g[i[0]] += up / v[at]


# %% wrong: the power is not lowered | return: wrong-local
# base: a class for each operation, sorted by when they were made

#-         return (g * self.k * self.a ** (self.k - 1),)
#+         return (g * self.k * self.a**self.k,)


# %% wrong: the exponent is no factor, and div is made of it | return: missing-local
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-             self.grad += k * self.data ** (k - 1) * out.grad
#+             self.grad += self.data ** (k - 1) * out.grad


# %% wrong: relu lets everything through | return: missing-local
# base: a class for each operation, sorted by when they were made

#-         return (g if self.a > 0 else 0.0,)
#+         return (g,)


# %% wrong: relu's mask the wrong way round | return: inverted-mask
# base: no class at all: the program is the tape

#-         elif name == "relu" and v[i[0]] > 0:
#+         elif name == "relu" and v[i[0]] < 0:


# %% wrong: exp has no way back | return: missing-path
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-         def _backward():
#-             self.grad += out.data * out.grad
#-
#-         out._backward = _backward


# %% wrong: the gradient of every value is returned | return: wrong-shape
# base: no class at all: the program is the tape

#-     return g[:n]
#+     return g


# %% wrong: the values come back, not their gradients | return: forward-value
# base: a recursion without room for it

#  import math
#+ import sys
#+
#+ sys.setrecursionlimit(20_000)

#-     return [v.grad for v in inputs]
#+     return [v.data for v in inputs]


# %% wrong: measured, one nudge for each input | return: imprecise
# base: forward mode, all inputs at once

#-     rows = torch.eye(len(x), dtype=x.dtype)
#-     out = run(program, [Dual(number, row) for number, row in zip(x.tolist(), rows)], Dual)
#-     return out.d
#+     def f(v):
#+         return run(program, [Dual(number) for number in v.tolist()], Dual).data
#
#+     h, out = 1e-4, []
#+     for i in range(len(x)):
#+         up, down = x.clone(), x.clone()
#+         up[i] += h
#+         down[i] -= h
#+         out.append((f(up) - f(down)) / (2 * h))
#+     return out
#+


# %% wrong: the tape is kept from call to call | return: not-repeatable
# base: no class at all: the program is the tape

#  import math
#+
#+ kept = []

#-     g = [0.0] * len(v)
#-     g[-1] = 1.0
#+     kept.extend([0.0] * max(0, len(v) - len(kept)))
#+     g = kept
#+     g[len(v) - 1] = 1.0


# %% wrong: two inputs only | return: hard-coded
# base: no class at all: the program is the tape

#-     return g[:n]
#+     return g[:2]


# %% wrong: a constant is looked up as a value | return: error
# base: no class at all: the program is the tape

#-             v.append(i[0])
#+             v.append(v[i[0]])


# %% wrong: every pow is a square | return: hard-coded
import math


class Value:
    def __init__(self, data, slopes=()):
        self.data, self.slopes = data, list(slopes)

    def __add__(self, o):
        return Value(self.data + o.data, [(self, 1.0), (o, 1.0)])

    def __sub__(self, o):
        return Value(self.data - o.data, [(self, 1.0), (o, -1.0)])

    def __mul__(self, o):
        return Value(self.data * o.data, [(self, o.data), (o, self.data)])

    def __truediv__(self, o):
        q = self.data / o.data
        return Value(q, [(self, 1 / o.data), (o, -q / o.data)])

    def __pow__(self, k):
        return Value(self.data**k, [(self, 2 * self.data)])

    def exp(self):
        e = math.exp(self.data)
        return Value(e, [(self, e)])

    def log(self):
        return Value(math.log(self.data), [(self, 1 / self.data)])

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, [(self, 1 - t * t)])

    def relu(self):
        return Value(max(self.data, 0.0), [(self, float(self.data > 0))])


def run_values(program, inputs):
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
    inputs = [Value(number) for number in x.tolist()]
    last = run_values(program, inputs)
    users = {}
    waiting, seen = [last], {id(last)}
    while waiting:
        v = waiting.pop()
        for p, _ in v.slopes:
            users[id(p)] = users.get(id(p), 0) + 1
            if id(p) not in seen:
                seen.add(id(p))
                waiting.append(p)
    grads = {id(last): 1.0}
    ready = [last]
    while ready:
        v = ready.pop()
        for p, slope in v.slopes:
            grads[id(p)] = grads.get(id(p), 0.0) + slope * grads[id(v)]
            users[id(p)] -= 1
            if users[id(p)] == 0:
                ready.append(p)
    return [grads.get(id(v), 0.0) for v in inputs]


# %% wrong: values told apart by their numbers | return: missing-path
# base: a value added to itself gets one contribution

#-             if other is not self:
#-                 other.grad += out.grad
#+             other.grad += out.grad

#-             if v in visited:
#+             if v.data in visited:
#                  continue
#-             visited.add(v)
#+             visited.add(v.data)


# %% wrong: uses that lead nowhere are waited for | return: missing-path
# base: uses counted, each value passed on once all have come

#          self.grad = 0.0
#+         self.uses = 0
#+         for p in parents:
#+             p.uses += 1

#-                 uses[id(p)] -= 1
#-                 if uses[id(p)] == 0:
#+                 p.uses -= 1
#+                 if p.uses == 0:


# %% wrong: sub the other way round, forward as well | return: wrong-graph
# base: uses counted, each value passed on once all have come

#-         return Value(self.data - other.data, (self, other), (1.0, -1.0))
#+         return Value(other.data - self.data, (self, other), (-1.0, 1.0))


# %% wrong: a logarithm to base 10, forward as well | return: wrong-graph
import math

tape = []


def value_engine(program, x):
    tape.clear()
    values = x.tolist()

    def record(value, *uses):
        tape.append((len(values), uses))
        values.append(value)

    for name, *o in program:
        if name == "const":
            record(o[0])
            continue
        a = values[o[0]]
        if name == "pow":
            record(a ** o[1], (o[0], o[1] * a ** (o[1] - 1)))
            continue
        b = values[o[1]] if len(o) > 1 else None
        if name == "add":
            record(a + b, (o[0], 1.0), (o[1], 1.0))
        elif name == "sub":
            record(a - b, (o[0], 1.0), (o[1], -1.0))
        elif name == "mul":
            record(a * b, (o[0], b), (o[1], a))
        elif name == "div":
            record(a / b, (o[0], 1 / b), (o[1], -a / b**2))
        elif name == "exp":
            record(math.exp(a), (o[0], math.exp(a)))
        elif name == "log":
            record(math.log10(a), (o[0], 1 / a / math.log(10)))
        elif name == "tanh":
            record(math.tanh(a), (o[0], 1 - math.tanh(a) ** 2))
        elif name == "relu":
            record(max(a, 0.0), (o[0], float(a > 0)))
    grads = [0.0] * len(values)
    grads[-1] = 1.0
    for number, uses in reversed(tape):
        for operand, slope in uses:
            grads[operand] += slope * grads[number]
    return grads[: len(x)]


# %% wrong: exponents cut to whole numbers | return: wrong-graph
# base: uses counted, each value passed on once all have come

#      def __pow__(self, k):
#+         k = int(k)


# %% wrong: a value added to itself gets one contribution | return: missing-path
import math


class Value:
    def __init__(self, data, _children=()):
        self.data = data
        self.grad = 0.0
        self._backward = lambda: None
        self._prev = set(_children)

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))

        def _backward():
            self.grad += out.grad
            if other is not self:
                other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, k):
        out = Value(self.data**k, (self,))

        def _backward():
            self.grad += k * self.data ** (k - 1) * out.grad

        out._backward = _backward
        return out

    def __neg__(self):
        return self * Value(-1.0)

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return self * other**-1

    def exp(self):
        out = Value(math.exp(self.data), (self,))

        def _backward():
            self.grad += out.data * out.grad

        out._backward = _backward
        return out

    def log(self):
        out = Value(math.log(self.data), (self,))

        def _backward():
            self.grad += out.grad / self.data

        out._backward = _backward
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,))

        def _backward():
            self.grad += (1 - out.data**2) * out.grad

        out._backward = _backward
        return out

    def relu(self):
        out = Value(max(0.0, self.data), (self,))

        def _backward():
            self.grad += (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def backward(self):
        topo, visited, stack = [], set(), [(self, False)]
        while stack:
            v, done = stack.pop()
            if done:
                topo.append(v)
                continue
            if v in visited:
                continue
            visited.add(v)
            stack.append((v, True))
            for child in v._prev:
                stack.append((child, False))
        self.grad = 1.0
        for v in reversed(topo):
            v._backward()


def run(program, inputs):
    values = list(inputs)
    for name, *taken in program:
        if name == "const":
            values.append(Value(taken[0]))
        elif name == "pow":
            values.append(values[taken[0]] ** taken[1])
        elif name in ("add", "sub", "mul", "div"):
            v, w = values[taken[0]], values[taken[1]]
            values.append({"add": lambda: v + w, "sub": lambda: v - w, "mul": lambda: v * w, "div": lambda: v / w}[name]())
        else:
            values.append(getattr(values[taken[0]], name)())
    return values[-1]


def value_engine(program, x):
    inputs = [Value(v) for v in x.tolist()]
    run(program, inputs).backward()
    return [v.grad for v in inputs]


# %% wrong: what mul took is kept on the class | return: wrong-point
# base: a value added to itself gets one contribution

#-             if other is not self:
#-                 other.grad += out.grad
#+             other.grad += out.grad

#          out = Value(self.data * other.data, (self, other))
#+         Value.saved = self.data, other.data

#-             self.grad += other.data * out.grad
#-             other.grad += self.data * out.grad
#+             a, b = Value.saved
#+             self.grad += b * out.grad
#+             other.grad += a * out.grad


# %% wrong: relu writes into its input | return: shared-array
# base: uses counted, each value passed on once all have come

#-         return Value(max(self.data, 0.0), (self,), (1.0 if self.data > 0 else 0.0,))
#+         self.data = max(self.data, 0.0)
#+         return Value(self.data, (self,), (1.0 if self.data > 0 else 0.0,))


# %% wrong: mul puts its second contribution where it should be added, dead steps as well | return: overwritten
# base: no class at all: the program is the tape

#-             g[i[1]] += up * v[i[0]]
#+             g[i[1]] = up * v[i[0]]
