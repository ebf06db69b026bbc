# lin_grad_accumulate: out = inp @ w + b, added to the gradients that are there

# %% right: getattr with a default of 0
def lin_grad_accumulate(inp, out, w, b):
    inp.g = getattr(inp, "g", 0) + out.g @ w.t()
    w.g = getattr(w, "g", 0) + inp.t() @ out.g
    b.g = getattr(b, "g", 0) + out.g.sum(0)


# %% right: a helper that adds in place where there is a gradient
def lin_grad_accumulate(inp, out, w, b):
    def acc(t, g):
        if getattr(t, "g", None) is None:
            t.g = g
        else:
            t.g += g
    acc(inp, out.g @ w.t())
    acc(w, inp.t() @ out.g)
    acc(b, out.g.sum(0))


# %% right: a helper that tries to add in place
def accumulate(t, new):
    try:
        t.g += new
    except AttributeError:
        t.g = new


def lin_grad_accumulate(inp, out, w, b):
    accumulate(inp, out.g @ w.t())
    accumulate(w, inp.t() @ out.g)
    accumulate(b, out.g.sum(0))


# %% right: a loop over pairs that tries to add
def lin_grad_accumulate(inp, out, w, b):
    for owner, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        try:
            owner.g = owner.g + g
        except AttributeError:
            owner.g = g


# %% right: a loop over a dictionary that tries to add
def lin_grad_accumulate(inp, out, w, b):
    new = {inp: out.g @ w.t(), w: inp.t() @ out.g, b: out.g.sum(0)}
    for t, g in new.items():
        try:
            t.g = t.g + g
        except AttributeError:
            t.g = g


# %% right: zeros where there is no gradient yet
import torch


def lin_grad_accumulate(inp, out, w, b):
    for t in (inp, w, b):
        if getattr(t, "g", None) is None:
            t.g = torch.zeros_like(t)
    inp.g = inp.g + torch.einsum("bm,nm->bn", out.g, w)
    w.g = torch.addmm(w.g, inp.t(), out.g)
    b.g = b.g + sum(out.g.unbind(0))


# %% wrong: old gradient subtracted in inp.g | inp.g: wrong-sign or overwritten
def lin_grad_accumulate(inp, out, w, b):
    inp.g = out.g @ w.t() - getattr(inp, "g", 0)
    w.g = getattr(w, "g", 0) + inp.t() @ out.g
    b.g = getattr(b, "g", 0) + out.g.sum(0)


# %% wrong: inp.g assigned instead of added | inp.g: overwritten
def lin_grad_accumulate(inp, out, w, b):
    inp.g = out.g @ w.t()
    for p, g in ((w, inp.t() @ out.g), (b, out.g.sum(0))):
        p.g = p.g + g if hasattr(p, "g") else g


# %% wrong: b.g added twice the first time | b.g: extra-factor or wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    if not hasattr(b, "g"):
        b.g = out.g.sum(0)
    b.g = b.g + out.g.sum(0)
    inp.g = getattr(inp, "g", 0) + out.g @ w.t()
    w.g = getattr(w, "g", 0) + inp.t() @ out.g


# %% wrong: b.g assigned instead of added | b.g: overwritten
def lin_grad_accumulate(inp, out, w, b):
    inp.g = getattr(inp, "g", 0) + out.g @ w.t()
    w.g = getattr(w, "g", 0) + inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: averaged over the batch, both w.g and b.g | w.g, b.g: mean-for-sum
def lin_grad_accumulate(inp, out, w, b):
    bs = len(inp)
    new = {inp: out.g @ w.t(), w: inp.t() @ out.g / bs, b: out.g.mean(0)}
    for t, g in new.items():
        if hasattr(t, "g"):
            t.g = t.g + g
        else:
            t.g = g


# %% wrong: old and new gradient averaged | *: mean-for-sum
def lin_grad_accumulate(inp, out, w, b):
    for t, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        t.g = (t.g + g) / 2 if hasattr(t, "g") else g


# %% wrong: a gradient step of 0.1 subtracted | inp.g, w.g, b.g: wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    for t, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        t.g = getattr(t, "g", 0) - 0.1 * g


# %% wrong: old gradient multiplied by 0.9, as with momentum | inp.g, w.g, b.g: wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    for t, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        t.g = 0.9 * getattr(t, "g", 0) + g


# %% wrong: a running average of old and new gradient | inp.g, w.g, b.g: wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    for t, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        t.g = 0.9 * t.g + 0.1 * g if hasattr(t, "g") else g


# %% wrong: new gradient as its own default, so twice the first time | *: wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    gi, gw, gb = out.g @ w.t(), inp.t() @ out.g, out.g.sum(0)
    inp.g = getattr(inp, "g", gi) + gi
    w.g = getattr(w, "g", gw) + gw
    b.g = getattr(b, "g", gb) + gb


# %% wrong: old gradient added twice | *: wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    for t, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        if not hasattr(t, "g"):
            t.g = g
        else:
            t.g += t.g + g


# %% wrong: w.g and b.g set to zero before the addition | w.g, b.g: overwritten
import torch
def lin_grad_accumulate(inp, out, w, b):
    gi = out.g @ w.t()
    inp.g = inp.g + gi if hasattr(inp, "g") else gi
    w.g = torch.zeros_like(w)
    b.g = torch.zeros_like(b)
    w.g += inp.t() @ out.g
    b.g += out.g.sum(0)


# %% wrong: added to the values instead of the gradients | *: overwritten
def lin_grad_accumulate(inp, out, w, b):
    inp.g = inp + out.g @ w.t()
    w.g = w + inp.t() @ out.g
    b.g = b + out.g.sum(0)


# %% wrong: all three assigned instead of added | *: overwritten
def lin_grad_accumulate(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: all three set to zero before the addition | *: overwritten
import torch


def lin_grad_accumulate(inp, out, w, b):
    for t in (inp, w, b):
        t.g = torch.zeros_like(t)
    inp.g += out.g @ w.t()
    w.g += inp.t() @ out.g
    b.g += out.g.sum(0)


# %% wrong: assigned only where there is no gradient yet | *: overwritten or missing-path
def lin_grad_accumulate(inp, out, w, b):
    if not hasattr(inp, "g"):
        inp.g = out.g @ w.t()
    if not hasattr(w, "g"):
        w.g = inp.t() @ out.g
    if not hasattr(b, "g"):
        b.g = out.g.sum(0)


# %% wrong: no thought of a gradient that is not there yet | *: error
def lin_grad_accumulate(inp, out, w, b):
    inp.g += out.g @ w.t()
    w.g += inp.t() @ out.g
    b.g += out.g.sum(0)


# %% wrong: one test on inp decides for all three | *: error
def lin_grad_accumulate(inp, out, w, b):
    gi, gw, gb = out.g @ w.t(), inp.t() @ out.g, out.g.sum(0)
    if hasattr(inp, "g"):
        inp.g, w.g, b.g = inp.g + gi, w.g + gw, b.g + gb
    else:
        inp.g, w.g, b.g = gi, gw, gb


# %% wrong: w.g never created | w.g: missing-answer
def lin_grad_accumulate(inp, out, w, b):
    inp.g = getattr(inp, "g", 0) + out.g @ w.t()
    if hasattr(w, "g"):
        w.g = w.g + inp.t() @ out.g
    b.g = getattr(b, "g", 0) + out.g.sum(0)


# %% wrong: added only where the input is not 0 | inp.g: wrong-local
import torch


def lin_grad_accumulate(inp, out, w, b):
    new = {inp: (out.g @ w.t()) * (inp != 0), w: inp.t() @ out.g, b: out.g.sum(0)}
    for tensor, g in new.items():
        tensor.g = g + getattr(tensor, "g", torch.zeros_like(g))


# %% wrong: what is there is doubled | w.g: wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    new = {"inp": out.g @ w.T, "w": inp.T @ out.g, "b": out.g.sum(0)}
    inp.g = inp.g + new["inp"] if hasattr(inp, "g") else new["inp"]
    b.g = b.g + new["b"] if hasattr(b, "g") else new["b"]
    w.g = 2 * w.g if hasattr(w, "g") else new["w"]
