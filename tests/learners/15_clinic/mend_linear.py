# mend_linear: out = (inp @ w + b).relu()

# %% right: a mask, as in the solution
def mend_linear(inp, w, b, out):
    pre_g = out.g * (out > 0)
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% right: where
import torch


def mend_linear(inp, w, b, out):
    pre_g = torch.where(out > 0, out.g, torch.zeros_like(out))
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% right: the sums are made again
def mend_linear(inp, w, b, out):
    pre_g = ((inp @ w + b) > 0).float() * out.g
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% right: entries are set to 0 in a copy
def mend_linear(inp, w, b, out):
    pre_g = out.g.clone()
    pre_g[out == 0] = 0
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: as it was found | *: todo
def mend_linear(inp, w, b, out):
    pre_g = out.g * out
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: as it was found, and printed | *: wrong-local or extra-factor or forward-value or value-for-gradient
def mend_linear(inp, w, b, out):
    print(out.shape)
    pre_g = out.g * out
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: relu forgotten | *: missing-local
def mend_linear(inp, w, b, out):
    pre_g = out.g
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: the mask is turned round | *: inverted-mask
def mend_linear(inp, w, b, out):
    pre_g = out.g * (out <= 0)
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: the mask asks inp through w alone | *: wrong-point or wrong-local
def mend_linear(inp, w, b, out):
    pre_g = out.g * ((inp @ w) > 0)
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: the upstream gradient is clipped at 0 | *: wrong-local or inverted-mask or wrong-point or not-linear
def mend_linear(inp, w, b, out):
    pre_g = out.g.relu()
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: the sign of the sums | *: wrong-local or wrong-point
def mend_linear(inp, w, b, out):
    pre_g = out.g * (inp @ w + b).sign()
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: the mask without out.g | *: missing-upstream
def mend_linear(inp, w, b, out):
    pre_g = (out > 0).float()
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: mended, but b.g lost its sum | b.g: missing-batch-sum
def mend_linear(inp, w, b, out):
    pre_g = out.g * (out > 0)
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g


# %% wrong: mended, but w.g is a mean | w.g: mean-for-sum
def mend_linear(inp, w, b, out):
    pre_g = out.g * (out > 0)
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g / len(inp)
    b.g = pre_g.sum(0)


# %% wrong: the mask used in one place only | w.g, b.g: missing-local
def mend_linear(inp, w, b, out):
    pre_g = out.g
    inp.g = (pre_g * (out > 0)) @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: the mask is applied twice, with out | *: extra-factor or wrong-local or value-for-gradient
def mend_linear(inp, w, b, out):
    pre_g = out.g * (out > 0) * out
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: not begun | *: todo
def mend_linear(inp, w, b, out):
    inp.g = ...
    w.g = ...
    b.g = ...


# %% wrong: the slope of relu as out / (inp @ w + b), 0 where inp is | inp.g, w.g, b.g: not-finite
def mend_linear(inp, w, b, out):
    pre = inp @ w + b
    pre_g = out.g * out / pre
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)


# %% wrong: rows of zeros count as padding | b.g: wrong-local; inp.g: wrong-local
def mend_linear(inp, w, b, out):
    pre_g = out.g * (out > 0) * (inp != 0).any(1, keepdim=True)
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)
