# lin_grad_needed: out = inp @ w + b, for the arguments that needs names

# %% right: early return, set operations, a default for needs
def lin_grad_needed(inp, out, w, b, needs=frozenset({"inp", "w", "b"})):
    left = set(needs)
    if not left:
        return
    if "inp" in left:
        inp.g = out.g.mm(w.T)
    if {"w"} <= left:
        w.g = inp.T.mm(out.g)
    if left & {"b"}:
        b.g = out.g.sum(dim=0)


# %% right: early return and three ifs
def lin_grad_needed(inp, out, w, b, needs):
    if not needs:
        return
    if "inp" in needs: inp.g = out.g @ w.T
    if "w" in needs: w.g = inp.T @ out.g
    if "b" in needs: b.g = out.g.sum(0)


# %% right: a loop over the names
def lin_grad_needed(inp, out, w, b, needs):
    g = out.g
    for name in needs:
        if name == "inp":
            inp.g = g @ w.t()
        elif name == "w":
            w.g = inp.t() @ g
        else:
            b.g = g.sum(0)


# %% right: a table of arguments and lambdas, in sorted order
def lin_grad_needed(inp, out, w, b, needs):
    rules = {
        "inp": (inp, lambda: out.g @ w.t()),
        "w": (w, lambda: inp.t() @ out.g),
        "b": (b, lambda: out.g.sum(0)),
    }
    for name in sorted(needs):
        tensor, rule = rules[name]
        tensor.g = rule()


# %% right: a table of lambdas, another of arguments
def lin_grad_needed(inp, out, w, b, needs):
    owners = dict(inp=inp, w=w, b=b)
    rules = {
        "inp": lambda: out.g @ w.t(),
        "w": lambda: inp.t() @ out.g,
        "b": lambda: out.g.sum(0),
    }
    for name in needs:
        owners[name].g = rules[name]()


# %% wrong: b.g averaged over the batch | b.g: mean-for-sum
def lin_grad_needed(inp, out, w, b, needs):
    if "inp" in needs:
        inp.g = out.g @ w.t()
    if "w" in needs:
        w.g = inp.t() @ out.g
    if "b" in needs:
        b.g = out.g.mean(0)


# %% wrong: a set indexed by name | *: error
def lin_grad_needed(inp, out, w, b, needs):
    if needs["inp"]:
        inp.g = out.g @ w.t()
    if needs["w"]:
        w.g = inp.t() @ out.g
    if needs["b"]:
        b.g = out.g.sum(0)


# %% wrong: a set indexed by number | *: error
def lin_grad_needed(inp, out, w, b, needs):
    if needs[0]:
        inp.g = out.g @ w.t()
    if needs[1]:
        w.g = inp.t() @ out.g
    if needs[2]:
        b.g = out.g.sum(0)


# %% wrong: inp.g never computed | inp.g: missing-answer
def lin_grad_needed(inp, out, w, b, needs):
    if "w" in needs:
        w.g = inp.t() @ out.g
    if "b" in needs:
        b.g = out.g.sum(0)


# %% wrong: elif chain that computes one gradient only | w.g, b.g: missing-answer
def lin_grad_needed(inp, out, w, b, needs):
    if "inp" in needs:
        inp.g = out.g @ w.t()
    elif "w" in needs:
        w.g = inp.t() @ out.g
    elif "b" in needs:
        b.g = out.g.sum(0)


# %% wrong: every test the wrong way round | *: missing-answer or extra-work
def lin_grad_needed(inp, out, w, b, needs):
    if "inp" not in needs:
        inp.g = out.g @ w.t()
    if "w" not in needs:
        w.g = inp.t() @ out.g
    if "b" not in needs:
        b.g = out.g.sum(0)


# %% wrong: w.g and b.g computed together | w.g, b.g: extra-work
def lin_grad_needed(inp, out, w, b, needs):
    if "inp" in needs:
        inp.g = out.g @ w.t()
    if "w" in needs or "b" in needs:
        w.g = inp.t() @ out.g
        b.g = out.g.sum(0)


# %% wrong: b.g computed always | b.g: extra-work
def lin_grad_needed(inp, out, w, b, needs):
    if "inp" in needs: inp.g = out.g @ w.t()
    if "w" in needs: w.g = inp.t() @ out.g
    # costs nothing
    b.g = out.g.sum(0)


# %% wrong: needs ignored | *: extra-work
def lin_grad_needed(inp, out, w, b, needs):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: zeros stored where nothing is needed | *: extra-work
import torch

def lin_grad_needed(inp, out, w, b, needs):
    inp.g = out.g @ w.t() if "inp" in needs else torch.zeros_like(inp)
    w.g = inp.t() @ out.g if "w" in needs else torch.zeros_like(w)
    b.g = out.g.sum(0) if "b" in needs else torch.zeros_like(b)


# %% wrong: needs emptied as it is worked off | *: mutated-input
def lin_grad_needed(inp, out, w, b, needs):
    while needs:
        name = needs.pop()
        if name == "inp":
            inp.g = out.g @ w.t()
        elif name == "w":
            w.g = inp.t() @ out.g
        else:
            b.g = out.g.sum(0)


# %% right: a copy of needs worked off
def lin_grad_needed(inp, out, w, b, needs):
    left = set(needs)
    while left:
        name = left.pop()
        if name == "inp":
            inp.g = out.g @ w.t()
        elif name == "w":
            w.g = inp.t() @ out.g
        else:
            b.g = out.g.sum(0)
