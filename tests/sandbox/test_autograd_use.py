"""Autograd is found where the graded function uses it, and nowhere else."""
# ruff: noqa: E501

from __future__ import annotations

import pytest
from helpers.courses import solution
from helpers.grading import Grade, codes

from grader.course.course import Course
from grader.sandbox.autograd_use import autograd_use

USES = {
    "backward": ("import torch\ndef f(x):\n    y = g(x)\n    y.sum().backward()\n", 4, "y.sum().backward()"),
    "backward on an argument": ("def f(loss):\n    loss.backward()\n", 2, "loss.backward()"),
    "backward in a lambda": ("def f(x):\n    return (lambda y: y.backward())(x)\n", 2, "y.backward()"),
    "autograd.grad": ("import torch\ndef f(x):\n    return torch.autograd.grad(x, x)[0]\n", 3, "torch.autograd.grad"),
    "under another name": ("import torch as t\ndef f(x):\n    return t.autograd.grad(x, x)\n", 3, "t.autograd.grad"),
    "imported by itself": ("from torch.autograd import grad\ndef f(x):\n    return grad(x, x)\n", 3, "grad"),
    "imported under another name": ("from torch import autograd as ag\ndef f(x):\n    return ag.grad(x)\n", 3, "ag.grad"),
    "imported inside": ("def f(x):\n    from torch.func import jacrev\n    return jacrev(g)(x)\n", 3, "jacrev"),
    "functional": (
        "import torch\ndef f(x):\n    return torch.autograd.functional.jacobian(g, x)\n", 3,
        "torch.autograd.functional.jacobian",
    ),
    "torch.func": ("import torch\ndef f(x):\n    return torch.func.vjp(g, x)\n", 3, "torch.func.vjp"),
    "functorch": ("import functorch\ndef f(x):\n    return functorch.hessian(g)(x)\n", 3, "functorch.hessian"),
    "torch.nn.grad": ("import torch\ndef f(x):\n    return torch.nn.grad.conv2d_input(1)\n", 3, "torch.nn.grad.conv2d_input"),
    "an operation": ("import torch\ndef f(x):\n    return torch.ops.aten.relu_backward(x)\n", 3, "torch.ops.aten.relu_backward"),
    "requires_grad_": ("def f(x):\n    x.requires_grad_()\n", 2, "x.requires_grad_()"),
    "requires_grad_(True)": ("def f(x):\n    return x.clone().requires_grad_(True)\n", 2, "x.clone().requires_grad_(True)"),
    "requires_grad=True": (
        "import torch\ndef f(x):\n    y = torch.zeros(2, requires_grad=True)\n", 3, "torch.zeros(2, requires_grad=True)",
    ),
    "requires_grad assigned": ("def f(x):\n    x.requires_grad = True\n", 2, "x.requires_grad"),
    "grad_fn": ("def f(x):\n    return x.sum().grad_fn(1)\n", 2, "x.sum().grad_fn"),
    "in a helper": ("def help(x):\n    x.backward()\ndef f(x):\n    return help(x)\n", 2, "x.backward()"),
    "in a helper's helper": ("def a(x):\n    x.backward()\nb = lambda x: a(x)\ndef f(x):\n    return b(x)\n", 2, "x.backward()"),
    "in a class": (
        "class A:\n    def go(self, x):\n        x.requires_grad_()\ndef f(x):\n    return A().go(x)\n", 3, "x.requires_grad_()",
    ),
    "beside a module": (
        "from torch.nn import Module\nclass A(Module):\n    pass\ndef f(x):\n    A()(x).backward()\n", 5, "A()(x).backward()",
    ),
    "in a decorator": ("import torch\n@torch.func.grad\ndef f(x):\n    return x\n", 2, "torch.func.grad"),
    "made at top level": ("import torch\nd = torch.func.grad(g)\ndef f(x):\n    return d(x)\n", 2, "torch.func.grad"),
    "a nested function": ("def f(x):\n    def g():\n        x.backward()\n    g()\n", 3, "x.backward()"),
    "twice": ("def f(x):\n    x.requires_grad_()\n    x.backward()\n", 2, "x.requires_grad_()"),
    "its engine run over one's own Function": (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def backward(ctx, g): return g\n"
        "def f(x):\n    F.apply(x).backward()\n", 6, "F.apply(x).backward()",
    ),
    "at great length": (f"def f(x):\n    ({' + '.join('x' * 60)}).backward()\n", 2, None),
}  # fmt: skip

NONE = {
    "nothing": "def f(x):\n    x.g = x * 2\n",
    "at top level": "import torch\ndef f(x):\n    return x\ny = torch.ones(2, requires_grad=True)\nf(y).sum().backward()\n",
    "at top level with the argument's name": (
        "import torch\nx = torch.ones(2, requires_grad=True)\ndef f(x):\n    return x\nx.sum().backward()\n"
    ),
    "under main": "import torch\ndef f(x):\n    return x\nif __name__ == '__main__':\n    torch.autograd.grad(f(1), 1)\n",
    "in a function that checks": "import torch\ndef f(x):\n    return x\ndef check(x):\n    f(x).backward()\n",
    "a comment and a string": "def f(x):\n    '''Not loss.backward().'''\n    # torch.autograd.grad\n    return 'y.backward()'\n",
    "one's own class": (
        "class Value:\n    def backward(self):\n        for p in self.parents: p.backward()\n"
        "def f(x):\n    v = Value(x)\n    v.backward()\n    return v.grad\n"
    ),
    "one's own attributes": (
        "class Value:\n    def __init__(self, x, requires_grad=False):\n        self.grad_fn = None\n        self.requires_grad = True\n"
        "def f(x):\n    return Value(x, requires_grad=True).grad_fn\n"
    ),
    "one's own class without the method": "class Value:\n    pass\ndef f(x):\n    Value(x).backward()\n",
    "one's own class with an inherited method": (
        "from engine import Value\nclass Node(Value):\n    pass\ndef f(x):\n    Node(x).backward()\n"
    ),
    "a variable called grad": "def f(x):\n    grad = x * 2\n    x.grad = grad\n    return grad\n",
    "a function called grad": "from torch.autograd import grad\ndef grad(x):\n    return 2 * x\ndef f(x):\n    return grad(x)\n",
    "helpers": "def vjp(g, x):\n    return g * x\ndef jacobian(x):\n    return x\ndef f(x):\n    return vjp(jacobian(x), x)\n",
    "a local function called vjp": "from torch.func import vjp\ndef f(x):\n    def vjp(g):\n        return g\n    return vjp(x)\n",
    "a parameter called autograd": "from torch import autograd\ndef f(autograd):\n    return autograd.grad\n",
    "a function called backward": "def backward(g):\n    return g\ndef f(x):\n    return backward(x)\n",
    "a module of one's own": "import layers\ndef f(x):\n    return layers.backward(x)\n",
    "imported, not used": "from torch.autograd import grad\nimport functorch\ndef f(x):\n    return x\n",
    "vmap": "import torch\ndef f(x):\n    return torch.func.vmap(g)(x)\n",
    "no_grad": "import torch\ndef f(x):\n    with torch.no_grad(), torch.autograd.no_grad():\n        return x\n",
    "switched off": "import torch\ndef f(x):\n    return torch.zeros(2, requires_grad=False) + x.requires_grad_(False)\n",
    "asked, not set": "def f(x):\n    assert not x.requires_grad\n    return x\n",
    "no such function": "def g(x):\n    x.backward()\n",
    "no Python": "def f(x:\n    x.backward()",
    "null bytes": "def f(x): x.backward()\0",
    "nested beyond reason": "def f(x): return " + "(" * 500 + "x" + ")" * 500,
}


@pytest.mark.parametrize("what", USES)
def test_autograd_is_found_in(what: str) -> None:
    source, line, words = USES[what]
    found = autograd_use([source], "f")
    assert found is not None
    assert found[0] == line
    assert found[1] == words or (words is None and len(found[1]) <= 60)


@pytest.mark.parametrize("what", NONE)
def test_nothing_is_said_about(what: str) -> None:
    assert autograd_use([NONE[what]], "f") is None


def test_no_worked_solution_uses_autograd(course: Course) -> None:
    for exercise in course.exercises:
        assert autograd_use([exercise.solution.read_text()], exercise.id) is None


def test_a_wrong_answer_with_autograd_in_it_is_told_so(grade: Grade) -> None:
    """In a graded run `.grad` stays empty, and the error that follows would not name the rule."""
    result = grade(
        "relu_grad",
        "import torch\ndef relu_grad(inp, out):\n    y = inp.clone().requires_grad_()\n    inp.g = y.grad\n",
    )
    (answer,) = result.answers
    assert answer.code == "used-autograd"
    assert "line 3: y = inp.clone().requires_grad_()" in answer.message


def test_a_right_answer_with_autograd_in_it_passes(grade: Grade, course: Course) -> None:
    """The worker decides whether code can differentiate, and never the text."""
    text = solution(course, "relu_grad").decode()
    before, body = text.split("def relu_grad(inp, out):\n", 1)
    changed = f"{before}def relu_grad(inp, out):\n    inp.requires_grad\n    inp.clone().requires_grad_()\n{body}"
    assert autograd_use([changed], "relu_grad") is not None
    assert set(codes(grade("relu_grad", changed)).values()) == {None}
