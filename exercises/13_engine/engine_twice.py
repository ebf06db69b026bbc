"""An autograd engine with repeated backward passes, zero_grad and detach. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import math


class Node:
    """A number that remembers how it was made, and can be walked back from more than once: yours to write.

    `run_script` below makes one of a plain number, and uses `v + w`, `v * w`, `v.tanh()`, `v.detach()`, `v.backward()`
    and `v.zero_grad()`. Copy what you need of your `Value` into it: what its operators return must be such nodes, too.
    """

    ...


def run_script(program, inputs):
    """Run a program on nodes of yours, step by step. It is finished; you may change it."""
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
    """Return the gradients that the inputs have at the end of a program.

    The program is a list of steps, as in `value_engine`, and some of them run a backward pass, more than once and from
    several values. These are the steps there are:

    - ("add", i, j), ("mul", i, j), ("tanh", i): make the next value
    - ("detach", i): makes the next value, the same number as value i; no gradient passes through it to value i
    - ("backward", i): adds the gradient of value i, which a step has made, to what each input has; makes no value
    - ("zero_grad",): from here on the inputs have 0; makes no value

    program: a list of tuples
    x: (n,), the inputs, in float64
    returns: (n,), or a list of n numbers
    """
    ...
