"""Learner files that measure gradients, precisely enough for every ordinary trial, where formulas were asked for."""

from __future__ import annotations

from textwrap import dedent, indent

# exercise: (the function's arguments, its loss for numpy and for torch, what is measured, what it returns)
TASKS = {
    "lin_grad": ("inp, out, w, b", "((inp @ w + b) * g).sum()", "inp, w, b", ""),
    "linear_grad": ("inp, out, weight, bias", "((inp @ weight.T + bias) * g).sum()", "inp, weight, bias", ""),
    "lin_grad_nd": ("inp, out, w, b", "((inp @ w + b) * g).sum()", "inp, w, b", ""),
    "bmm_grad": ("a, b, out", "((a @ b) * g).sum()", "a, b", ""),
    "mse_grad": ("inp, targ", "((inp.squeeze(-1) - targ) ** 2).mean()", "inp,", ""),
    "forward_and_backward": (
        "inp, targ, w1, b1, w2, b2",
        "((((inp @ w1 + b1) * ((inp @ w1 + b1).real > 0) @ w2 + b2).squeeze(-1) - targ) ** 2).mean()",
        "inp, w1, b1, w2, b2",
        "torch.as_tensor(loss().real).float()",
    ),
    "dout_dx": ("x", "(3 * (x + 2) ** 2).mean()", "x,", "measured[0]"),
    "input_grad": ("x, w, b, df", "((x @ w + b) * df).sum()", "x,", "measured[0]"),
    "weight_grad": ("x, w, b, df", "((x @ w + b) * df).sum()", "w,", "measured[0]"),
}

# way: (how an argument `t` is converted, how `grad` of the array `t` is filled)
WAYS = {
    "numpy": ("t.numpy().astype(float)", """
        for i in np.ndindex(t.shape):
            old = t[i]
            t[i] = old + 1e-5
            up = loss()
            t[i] = old - 1e-5
            grad[i] = (up - loss()) / 2e-5
            t[i] = old
    """),
    "torch": ("t.double()", """
        flat = t.view(-1)
        for i in range(t.numel()):
            old = flat[i].item()
            flat[i] = old + 1e-5
            up = loss()
            flat[i] = old - 1e-5
            grad.reshape(-1)[i] = (up - loss()) / 2e-5
            flat[i] = old
    """),
    "torch, whole nudges": ("t.double()", """
        for i in range(t.numel()):
            nudge = torch.zeros(t.numel(), dtype=t.dtype)
            nudge[i] = 1e-5
            t += nudge.view(t.shape)
            up = loss()
            t -= 2 * nudge.view(t.shape)
            grad.reshape(-1)[i] = (up - loss()) / 2e-5
            t += nudge.view(t.shape)
    """),
    "complex step": ("t.to(torch.complex128)", """
        flat = t.view(-1)
        for i in range(t.numel()):
            flat[i] += 1e-30j
            grad.reshape(-1)[i] = loss().imag * 1e30
            flat[i] -= 1e-30j
    """),
    "complex step, numpy": ("t.numpy().astype(complex)", """
        for i in np.ndindex(t.shape):
            t[i] += 1e-30j
            grad[i] = loss().imag * 1e30
            t[i] -= 1e-30j
    """),
}  # fmt: skip


def measuring(exercise: str, way: str) -> str:
    """Return a file that measures every gradient of an exercise in one way."""
    arguments, loss, wrt, returned = TASKS[exercise]
    convert, measure = WAYS[way]
    upstream = "out.g" if "out" in arguments else "torch.ones(())"
    names = [name for name in arguments.split(", ") if name != "out"]
    return f"""
import numpy as np
import torch


def {exercise}({arguments}):
    given, measured = dict({", ".join(f"{name}={name}" for name in names)}), []
    {"".join(f"{name}, " for name in names)}g = [{convert} for t in (*given.values(), {upstream})]
    def loss(): return {loss}
    for name, t in zip({wrt.rstrip(",").split(", ")}, [{wrt}]):
        grad = np.zeros(t.shape)
{indent(dedent(measure).strip(), " " * 8)}
        measured.append(torch.from_numpy(grad).float())
        given[name].g = measured[-1]
    return {returned or None}
"""


# Some of its gradients are formulas, or several entries are nudged at once.
MORE = {
    "only one of them": """
        x, v, g = inp.numpy().astype(float), w.numpy().astype(float), out.g.numpy().astype(float)
        grad = np.zeros_like(v)
        for i in np.ndindex(v.shape):
            v[i] += 1e-3
            up = (x @ v * g).sum()
            v[i] -= 2e-3
            grad[i] = (up - (x @ v * g).sum()) / 2e-3
            v[i] += 1e-3
        inp.g, w.g, b.g = out.g @ w.t(), torch.from_numpy(grad).float(), out.g.sum(0)
    """,
    "a row at a time": """
        x, v, c, g = (t.double() for t in (inp, w, b, out.g))
        base = x @ v + c
        inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
        for k in range(len(w)):
            moved = x.clone()
            moved[:, k] += 1e-3
            inp.g[:, k] = ((moved @ v + c - base) * g).sum(1) / 1e-3
            moved = v.clone()
            moved[k] += 1e-3
            w.g[k] = ((x @ moved + c - base) * g).sum(0) / 1e-3
        b.g = (((x @ v + (c + 1e-3) - base) * g).sum(0) / 1e-3).float()
    """,
    "all nudges in one batch": """
        x, v, c, g = (t.double() for t in (inp, w, b, out.g))
        def all_of(t, f):
            nudges = 1e-3 * torch.eye(t.numel(), dtype=t.dtype).view(-1, *t.shape)
            return ((f(t + nudges) - f(t - nudges)) * g).sum((1, 2)).view(t.shape).float() / 2e-3
        inp.g = all_of(x, lambda x: x @ v + c)
        w.g = all_of(v, lambda v: x @ v + c)
        b.g = all_of(c, lambda c: x @ v + c.unsqueeze(-2))
    """,
    "all nudges of one of them in one batch": """
        x, v, g = (t.double() for t in (inp, w, out.g))
        nudges = torch.eye(v.numel(), dtype=v.dtype).view(-1, *v.shape)
        w.g = ((x @ (v + nudges) - x @ v) * g).sum((1, 2)).view(v.shape).float()
        inp.g, b.g = out.g @ w.t(), out.g.sum(0)
    """,
    "nudges in small batches": """
        x, v, c, g = (t.double() for t in (inp, w, b, out.g))
        def all_of(t, f):
            found = []
            for first in range(0, t.numel(), 50):
                moved = t.expand(min(50, t.numel() - first), *t.shape).clone()
                moved.view(len(moved), -1)[range(len(moved)), range(first, first + len(moved))] += 1e-3
                found.append(((f(moved) - f(t)) * g).sum((1, 2)) / 1e-3)
            return torch.cat(found).view(t.shape).float()
        inp.g = all_of(x, lambda x: x @ v + c)
        w.g = all_of(v, lambda v: x @ v + c)
        b.g = all_of(c, lambda c: x @ v + c.unsqueeze(-2))
    """,
    "forward mode by hand": """
        inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
        for t, tangents in ((inp, lambda d: d @ w), (w, lambda d: inp @ d)):
            for i in range(t.numel()):
                direction = torch.zeros_like(t)
                direction.view(-1)[i] = 1
                t.g.view(-1)[i] = (tangents(direction) * out.g).sum()
        b.g = out.g.sum(0)
    """,
    "swallows the alarm": """
        x, v, g = (t.double() for t in (inp, w, out.g))
        def each(t, f):
            grad, flat = torch.zeros_like(t), t.view(-1)
            for i in range(t.numel()):
                while True:
                    try:
                        before = f()
                        flat[i] += 1e-3
                        grad.view(-1)[i] = (f() - before) / 1e-3
                        flat[i] -= 1e-3
                        break
                    except BaseException:
                        pass
            return grad.float()
        inp.g, w.g = each(x, lambda: (x @ v * g).sum()), each(v, lambda: (x @ v * g).sum())
        b.g = out.g.sum(0)
    """,
}

LIN_GRAD = "import numpy as np\nimport torch\n\n\ndef lin_grad(inp, out, w, b):\n"


def lin_grad(text: str) -> str:
    """Return a file whose `lin_grad` has this body."""
    return LIN_GRAD + indent(dedent(text).strip("\n"), "    ") + "\n"


NOT_SEEN = frozenset(
    ("lin_grad", way)
    for way in (
        "a row at a time",
        "all nudges in one batch",
        "all nudges of one of them in one batch",
        "nudges in small batches",
        "forward mode by hand",
    )
)
"""What is given up, so that no formula is ever flagged: SECURITY.md says so."""

SOURCES = {
    **{(exercise, "numpy"): measuring(exercise, "numpy") for exercise in TASKS},
    **{(exercise, way): measuring(exercise, way) for exercise in ("lin_grad", "mse_grad") for way in WAYS},
    **{("lin_grad", way): lin_grad(text) for way, text in MORE.items()},
}
