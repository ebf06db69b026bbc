# engine_twice: what the inputs have after several calls of backward, zero_grad and detach

# %% right: closures, what is between cleared before each walk
import math


class Node:
    def __init__(self, data, children=()):
        self.data, self.grad, self._prev = data, 0.0, children
        self._backward = lambda: None

    def __add__(self, other):
        out = Node(self.data + other.data, (self, other))

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Node(self.data * other.data, (self, other))

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Node(t, (self,))

        def _backward():
            self.grad += (1 - t * t) * out.grad

        out._backward = _backward
        return out

    def detach(self):
        return Node(self.data)

    def zero_grad(self):
        self.grad = 0.0

    def topo(self, order, seen):
        if self not in seen:
            seen.add(self)
            for child in self._prev:
                child.topo(order, seen)
            order.append(self)
        return order

    def backward(self):
        order = self.topo([], set())
        for v in order:
            if v._prev:
                v.grad = 0.0
        self.grad += 1.0
        for v in reversed(order):
            v._backward()


def run_script(program, inputs):
    nodes = list(inputs)
    for name, *operands in program:
        taken = [nodes[i] for i in operands]
        if name == "zero_grad":
            for node in inputs:
                node.zero_grad()
        elif name == "backward":
            taken[0].backward()
        elif name == "detach":
            nodes.append(taken[0].detach())
        elif name == "tanh":
            nodes.append(taken[0].tanh())
        else:
            nodes.append(taken[0] + taken[1] if name == "add" else taken[0] * taken[1])


def engine_twice(program, x):
    inputs = [Node(number) for number in x.tolist()]
    run_script(program, inputs)
    return [node.grad for node in inputs]


# %% right: what arrives kept in a dictionary of the walk
import math

import torch


class Node:
    def __init__(self, data, op=None, parents=()):
        self.data, self.op, self.parents, self.grad = data, op, parents, None

    def __add__(self, other):
        return Node(self.data + other.data, "add", (self, other))

    def __mul__(self, other):
        return Node(self.data * other.data, "mul", (self, other))

    def tanh(self):
        return Node(math.tanh(self.data), "tanh", (self,))

    def detach(self):
        return Node(self.data)

    def zero_grad(self):
        self.grad = None

    def rules(self, g):
        if self.op == "add":
            return g, g
        if self.op == "mul":
            a, b = self.parents
            return g * b.data, g * a.data
        return (g * (1 - self.data**2),)

    def backward(self):
        arrived, order, seen = {self: 1.0}, [], set()
        stack = [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack += [(p, False) for p in node.parents]
        for node in reversed(order):
            g = arrived.pop(node)
            if not node.parents:
                node.grad = g if node.grad is None else node.grad + g
                continue
            for parent, part in zip(node.parents, node.rules(g)):
                arrived[parent] = arrived.get(parent, 0.0) + part


def run_script(program, inputs):
    nodes = list(inputs)
    for name, *operands in program:
        taken = [nodes[i] for i in operands]
        if name == "zero_grad":
            for node in inputs:
                node.zero_grad()
        elif name == "backward":
            taken[0].backward()
        elif name == "detach":
            nodes.append(taken[0].detach())
        elif name == "tanh":
            nodes.append(taken[0].tanh())
        else:
            nodes.append(taken[0] + taken[1] if name == "add" else taken[0] * taken[1])


def engine_twice(program, x):
    inputs = [Node(number) for number in x.tolist()]
    run_script(program, inputs)
    return torch.tensor([node.grad or 0.0 for node in inputs])


# %% right: forward mode, totals added at each call
import numpy as np


def engine_twice(program, x):
    """Forward mode: each value with its derivatives for all inputs."""
    n = len(x)
    values = [(float(v), np.eye(n)[i]) for i, v in enumerate(x)]
    total = np.zeros(n)
    for name, *taken in program:
        if name == "zero_grad":
            total = np.zeros(n)
            continue
        (a, da), *rest = [values[i] for i in taken]
        if name == "backward":
            total = total + da
        elif name == "detach":
            values.append((a, 0 * da))
        elif name == "tanh":
            values.append((np.tanh(a), da * (1 - np.tanh(a) ** 2)))
        else:
            ((b, db),) = rest
            values.append((a + b, da + db) if name == "add" else (a * b, da * b + a * db))
    return total


# %% right: one tape for the whole script
import math


def engine_twice(program, x):
    values, n = x.tolist(), len(x)
    total = [0.0] * n
    tape = [()] * n
    for name, *o in program:
        if name == "zero_grad":
            total = [0.0] * n
        elif name == "backward":
            grads = [0.0] * len(values)
            grads[o[0]] = 1.0
            for number in range(o[0], n - 1, -1):
                for operand, slope in tape[number]:
                    grads[operand] += slope * grads[number]
            total = [t + g for t, g in zip(total, grads)]
        else:
            a, b = values[o[0]], values[o[-1]]
            if name == "add":
                values.append(a + b)
                tape.append(((o[0], 1.0), (o[1], 1.0)))
            elif name == "mul":
                values.append(a * b)
                tape.append(((o[0], b), (o[1], a)))
            elif name == "tanh":
                values.append(math.tanh(a))
                tape.append(((o[0], 1 - math.tanh(a) ** 2),))
            elif name == "detach":
                values.append(a)
                tape.append(())
    return total


# %% wrong: micrograd as it is: what is between keeps its gradient | return: stale-gradient
# base: closures, what is between cleared before each walk

#-         for v in order:
#-             if v._prev:
#-                 v.grad = 0.0
#-         self.grad += 1.0
#+         self.grad = 1.0


# %% wrong: what is between keeps its gradient, and zero_grad clears that as well | return: stale-gradient
# base: closures, what is between cleared before each walk

#+     every = []
#+
#      def __init__(self, data, children=()):
#+         Node.every.append(self)

#-         self.grad = 0.0
#+         for node in Node.every:
#+             node.grad = 0.0

#-         for v in order:
#-             if v._prev:
#-                 v.grad = 0.0
#-         self.grad += 1.0
#+         self.grad = 1.0


# %% wrong: what is between keeps its gradient, the last value too | return: stale-gradient
# base: closures, what is between cleared before each walk

#-         for v in order:
#-             if v._prev:
#-                 v.grad = 0.0


# %% wrong: everything cleared before each walk | return: overwritten
# base: closures, what is between cleared before each walk

#-             if v._prev:
#-                 v.grad = 0.0
#+             v.grad = 0.0


# %% wrong: inputs set, not added to | return: overwritten
# base: what arrives kept in a dictionary of the walk

#-                 node.grad = g if node.grad is None else node.grad + g
#+                 node.grad = g


# %% wrong: zero_grad does nothing | return: stale-gradient
# base: closures, what is between cleared before each walk

#-         self.grad = 0.0
#+         pass


# %% wrong: zero_grad sets a name of its own | return: stale-gradient
# base: what arrives kept in a dictionary of the walk

#-         self.grad = None
#+         grad = None


# %% wrong: detach returns the value itself | return: wrong-graph
# base: closures, what is between cleared before each walk

#-         return Node(self.data)
#+         return self


# %% wrong: detach is a step that hands on | return: wrong-graph
# base: what arrives kept in a dictionary of the walk

#-         return Node(self.data)
#+         return self + Node(0.0)


# %% wrong: detach cuts the value itself | return: missing-path
# base: closures, what is between cleared before each walk

#      def detach(self):
#+         self._prev, self._backward = (), lambda: None


# %% wrong: mul passes its own operand | return: wrong-operand
# base: closures, what is between cleared before each walk

#-             self.grad += other.data * out.grad
#-             other.grad += self.data * out.grad
#+             self.grad += self.data * out.grad
#+             other.grad += other.data * out.grad


# %% wrong: tanh's slope at its input | return: wrong-point
# base: closures, what is between cleared before each walk

#-             self.grad += (1 - t * t) * out.grad
#+             self.grad += (1 - self.data**2) * out.grad


# %% wrong: contributions overwritten in the walk | return: overwritten
# base: what arrives kept in a dictionary of the walk

#-                 arrived[parent] = arrived.get(parent, 0.0) + part
#+                 arrived[parent] = part


# %% wrong: the walk forward | return: wrong-order
# base: closures, what is between cleared before each walk

#-         for v in reversed(order):
#+         for v in order:


# %% wrong: only the first call counts | return: missing-path
# base: closures, what is between cleared before each walk

#+     walked = False
#+
#      def backward(self):
#+         if self.walked:
#+             return
#+         self.walked = True


# %% wrong: zero_grad clears for good | return: missing-path or unknown
import numpy as np


def engine_twice(program, x):
    """Forward mode: each value with its derivatives for all inputs."""
    n = len(x)
    values = [(float(v), np.eye(n)[i]) for i, v in enumerate(x)]
    total = np.zeros(n)
    for name, *taken in program:
        if name == "zero_grad":
            return np.zeros(n)
        (a, da), *rest = [values[i] for i in taken]
        if name == "backward":
            total = total + da
        elif name == "detach":
            values.append((a, 0 * da))
        elif name == "tanh":
            values.append((np.tanh(a), da * (1 - np.tanh(a) ** 2)))
        else:
            ((b, db),) = rest
            values.append((a + b, da + db) if name == "add" else (a * b, da * b + a * db))
    return total


# %% wrong: the sum over all calls, without zero_grad | return: stale-gradient
import numpy as np


def engine_twice(program, x):
    """Forward mode: each value with its derivatives for all inputs."""
    n = len(x)
    values = [(float(v), np.eye(n)[i]) for i, v in enumerate(x)]
    total = np.zeros(n)
    for name, *taken in program:
        if name == "zero_grad":
            continue
        (a, da), *rest = [values[i] for i in taken]
        if name == "backward":
            total = total + da
        elif name == "detach":
            values.append((a, 0 * da))
        elif name == "tanh":
            values.append((np.tanh(a), da * (1 - np.tanh(a) ** 2)))
        else:
            ((b, db),) = rest
            values.append((a + b, da + db) if name == "add" else (a * b, da * b + a * db))
    return total


# %% wrong: always walks from the newest value | return: wrong-operand
import math


def engine_twice(program, x):
    n = len(x)
    values, made, total = x.tolist(), [()] * n, [0.0] * n
    for name, *o in program:
        if name == "zero_grad":
            total = [0.0] * n
        elif name == "backward":
            grads = [0.0] * len(values)
            grads[-1] = 1.0
            for k in range(len(values) - 1, -1, -1):
                for i, slope in made[k]:
                    grads[i] += slope * grads[k]
            total = [old + new for old, new in zip(total, grads)]
        elif name == "detach":
            values.append(values[o[0]])
            made.append(())
        elif name == "tanh":
            values.append(math.tanh(values[o[0]]))
            made.append(((o[0], 1 - values[-1] ** 2),))
        elif name == "add":
            values.append(values[o[0]] + values[o[1]])
            made.append(((o[0], 1.0), (o[1], 1.0)))
        else:
            i, j = o
            values.append(values[i] * values[j])
            made.append(((i, values[j]), (j, values[i])))
    return total


# %% wrong: flags of a first walk stay on the nodes | return: missing-path
import math


class Node:
    def __init__(self, data, _prev=()):
        self.data, self.grad, self._prev = data, 0.0, _prev
        self._backward = lambda: None

    def __add__(self, other):
        out = Node(self.data + other.data, (self, other))

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Node(self.data * other.data, (self, other))

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Node(t, (self,))

        def _backward():
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def detach(self):
        return Node(self.data)

    def zero_grad(self):
        self.grad = 0.0

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if not getattr(v, 'seen', False):
                v.seen = True
                for p in v._prev:
                    build(p)
                topo.append(v)

        build(self)
        for v in topo:
            if v._prev:
                v.grad = 0.0
        self.grad += 1.0
        for v in reversed(topo):
            v._backward()


def run_script(program, inputs):
    nodes = list(inputs)
    for name, *o in program:
        t = [nodes[i] for i in o]
        if name == "zero_grad":
            for node in inputs:
                node.zero_grad()
        elif name == "backward":
            t[0].backward()
        elif name == "detach":
            nodes.append(t[0].detach())
        elif name == "tanh":
            nodes.append(t[0].tanh())
        else:
            nodes.append(t[0] + t[1] if name == "add" else t[0] * t[1])


def engine_twice(program, x):
    leaves = [Node(v) for v in x.tolist()]
    run_script(program, leaves)
    return [leaf.grad for leaf in leaves]


# %% wrong: a walk empties the tape | return: missing-path
import math


def engine_twice(program, x):
    values, n = x.tolist(), len(x)
    total = [0.0] * n
    tape = [()] * n
    for name, *o in program:
        if name == "zero_grad":
            total = [0.0] * n
        elif name == "backward":
            grads = [0.0] * len(values)
            grads[o[0]] = 1.0
            for number in range(o[0], n - 1, -1):
                for operand, slope in tape[number]:
                    grads[operand] += slope * grads[number]
            total = [t + g for t, g in zip(total, grads)]
            tape = [()] * len(tape)
        else:
            a, b = values[o[0]], values[o[-1]]
            if name == "add":
                values.append(a + b)
                tape.append(((o[0], 1.0), (o[1], 1.0)))
            elif name == "mul":
                values.append(a * b)
                tape.append(((o[0], b), (o[1], a)))
            elif name == "tanh":
                values.append(math.tanh(a))
                tape.append(((o[0], 1 - math.tanh(a) ** 2),))
            elif name == "detach":
                values.append(a)
                tape.append(())
    return total
