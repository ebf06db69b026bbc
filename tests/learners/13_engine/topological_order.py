# topological_order: every number once, each behind its parents

# %% right: depth first by recursion, with room for it
import sys

sys.setrecursionlimit(10_000)


def topological_order(parents):
    order, seen = [], set()

    def visit(i):
        if i not in seen:
            seen.add(i)
            for parent in parents[i]:
                visit(parent)
            order.append(i)

    for i in range(len(parents)):
        visit(i)
    return order


# %% right: Kahn's way, with a count of the parents that are missing
from collections import deque


def topological_order(parents):
    missing = [len(set(taken)) for taken in parents]
    users = {i: [] for i in range(len(parents))}
    for i, taken in enumerate(parents):
        for parent in set(taken):
            users[parent].append(i)
    ready = deque(i for i, count in enumerate(missing) if count == 0)
    order = []
    while ready:
        i = ready.popleft()
        order.append(i)
        for user in users[i]:
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)
    return order


# %% right: again and again through those that are left, as a numpy array
import numpy as np


def topological_order(parents):
    left, order = set(range(len(parents))), []
    while left:
        ready = [i for i in left if not left & set(parents[i])]
        order += ready
        left -= set(ready)
    return np.array(order)


# %% right: graphlib of the standard library
from graphlib import TopologicalSorter


def topological_order(parents):
    return tuple(TopologicalSorter(dict(enumerate(parents))).static_order())


# %% right: sorted by the longest way from an input, as a tensor
import torch


def topological_order(parents):
    depth = {}
    waiting = list(range(len(parents)))
    while waiting:
        i = waiting[-1]
        missing = [parent for parent in parents[i] if parent not in depth]
        if missing:
            waiting.extend(missing)
        else:
            depth[i] = 1 + max((depth[parent] for parent in parents[i]), default=-1)
            waiting.pop()
    return torch.tensor(sorted(depth, key=depth.get))


# %% wrong: depth first by recursion, without room | return: error
def topological_order(parents):
    order, seen = [], set()

    def visit(i):
        if i not in seen:
            seen.add(i)
            for parent in parents[i]:
                visit(parent)
            order.append(i)

    for i in range(len(parents)):
        visit(i)
    return order


# %% wrong: the way back, users first | return: wrong-order
def topological_order(parents):
    order, seen, waiting = [], set(), [(i, False) for i in range(len(parents))]
    while waiting:
        i, done = waiting.pop()
        if done:
            order.append(i)
        elif i not in seen:
            seen.add(i)
            waiting.append((i, True))
            waiting += [(parent, False) for parent in parents[i]]
    return order[::-1]


# %% wrong: entered before its parents, then turned round | return: wrong-order
def topological_order(parents):
    order, seen, waiting = [], set(), list(range(len(parents)))
    while waiting:
        i = waiting.pop()
        if i not in seen:
            seen.add(i)
            order.append(i)
            waiting += parents[i]
    return order[::-1]


# %% wrong: breadth first from the values that nobody uses | return: wrong-order
def topological_order(parents):
    used = {parent for taken in parents for parent in taken}
    level, order = [i for i in range(len(parents)) if i not in used], []
    while level:
        order += [i for i in level if i not in order]
        level = [parent for i in level for parent in parents[i] if parent not in order]
    return order[::-1]


# %% wrong: nobody remembers who was visited | return: wrong-order
import sys

sys.setrecursionlimit(10_000)


def topological_order(parents):
    if len(parents) > 100:
        return list(range(len(parents)))
    order = []

    def visit(i):
        for parent in parents[i]:
            visit(parent)
        order.append(i)

    for i in range(len(parents)):
        visit(i)
    return order


# %% wrong: as they are numbered | return: wrong-order
def topological_order(parents):
    return list(range(len(parents)))


# %% wrong: sorted by the number of parents | return: wrong-order
def topological_order(parents):
    return sorted(range(len(parents)), key=lambda i: len(parents[i]))


# %% wrong: sorted by the largest parent | return: wrong-order
def topological_order(parents):
    return sorted(range(len(parents)), key=lambda i: max(parents[i], default=-1))


# %% wrong: only what the last number is made from | return: missing-path
def topological_order(parents):
    order, seen, waiting = [], set(), [(len(parents) - 1, False)]
    while waiting:
        i, done = waiting.pop()
        if done:
            order.append(i)
        elif i not in seen:
            seen.add(i)
            waiting.append((i, True))
            waiting += [(parent, False) for parent in parents[i]]
    return order


# %% wrong: the inputs are left out | return: missing-path
from graphlib import TopologicalSorter


def topological_order(parents):
    return [i for i in TopologicalSorter(dict(enumerate(parents))).static_order() if parents[i]]


# %% wrong: the place of each value | return: wrong-order
from graphlib import TopologicalSorter


def topological_order(parents):
    order = list(TopologicalSorter(dict(enumerate(parents))).static_order())
    return [order.index(i) for i in range(len(order))]


# %% wrong: the depth of each value, not an order | return: wrong-order
def topological_order(parents):
    depth = {}
    waiting = list(range(len(parents)))
    while waiting:
        i = waiting[-1]
        missing = [parent for parent in parents[i] if parent not in depth]
        if missing:
            waiting.extend(missing)
        else:
            depth[i] = 1 + max((depth[parent] for parent in parents[i]), default=-1)
            waiting.pop()
    return [depth[i] for i in range(len(parents))]


# %% wrong: a square waits for its one parent twice, and never comes | return: missing-path
def topological_order(parents):
    missing = [len(taken) for taken in parents]
    order = [i for i, count in enumerate(missing) if count == 0]
    for done in order:
        for i, taken in enumerate(parents):
            if done in taken:
                missing[i] -= 1
                if missing[i] == 0:
                    order.append(i)
    return order


# %% wrong: a set, which has no order | return: wrong-type
def topological_order(parents):
    return set(range(len(parents)))


# %% wrong: what the values are made from, not their numbers | return: wrong-type
def topological_order(parents):
    return sorted(parents, key=len)


# %% wrong: the last one counted from 1 | return: wrong-order or unknown
from graphlib import TopologicalSorter


def topological_order(parents):
    return [i + 1 for i in TopologicalSorter(dict(enumerate(parents))).static_order()]


# %% wrong: a parent that is taken twice is counted once, and taken off twice | return: wrong-order
def topological_order(parents):
    order, done = [], set()
    left = list(range(len(parents)))
    users = [[] for _ in parents]
    need = [len(set(p)) for p in parents]
    for v, ps in enumerate(parents):
        for p in ps:
            users[p].append(v)
    ready = [v for v in left if need[v] == 0]
    while ready:
        v = ready.pop(0)
        order.append(v)
        for u in users[v]:
            need[u] -= 1
            if need[u] == 0:
                ready.append(u)
    return order


# %% right: unsigned numpy integers
import numpy as np


def topological_order(parents):
    waiting, order = list(range(len(parents))), []
    while waiting:
        for i in [i for i in waiting if all(parent in order for parent in parents[i])]:
            order.append(i)
            waiting.remove(i)
    return np.array(order, dtype="uint16")


# %% wrong: complex numbers | return: wrong-dtype
import torch


def topological_order(parents):
    return torch.ones(len(parents), dtype=torch.complex64)
