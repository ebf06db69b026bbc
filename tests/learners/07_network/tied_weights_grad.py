# tied_weights_grad: h = (inp @ w).tanh(), out = h @ w.t()

# %% right: column by column
import torch

def tied_weights_grad(inp, out, w):
    h = torch.tanh(inp @ w)
    up = torch.zeros_like(h)
    for j in range(w.shape[1]):
        up[:, j] = (out.g * w[:, j]).sum(1) * (1 - h[:, j] ** 2)
    inp.g = torch.einsum("bm,nm->bn", up, w)
    w.g = torch.einsum("bn,bm->nm", inp, up) + torch.einsum("bn,bm->nm", out.g, h)


# %% right: both uses joined into one product
import torch


def tied_weights_grad(inp, out, w):
    h = torch.tanh(torch.einsum("bn,nm->bm", inp, w))
    dh = torch.einsum("bn,nm->bm", out.g, w) * (1 - h * h)
    inp.g = torch.einsum("bm,nm->bn", dh, w)
    w.g = torch.cat([inp, out.g]).t() @ torch.cat([dh, h])


# %% right: einsum, tanh's derivative from cosh
import torch


def tied_weights_grad(inp, out, w):
    h = torch.tanh(torch.einsum("bn,nm->bm", inp, w))
    g = torch.einsum("bn,nm->bm", out.g, w) / torch.cosh(inp @ w) ** 2
    inp.g = torch.einsum("bm,nm->bn", g, w)
    w.g = torch.einsum("bn,bm->nm", inp, g) + torch.einsum("bn,bm->nm", out.g, h)


# %% right: NumPy in float64
import numpy as np
import torch


def tied_weights_grad(inp, out, w):
    x, m, g = (t.double().numpy() for t in (inp, w, out.g))
    h = np.tanh(x @ m)
    d = (g @ m) * (1 - h**2)
    inp.g = torch.from_numpy(d @ m.T).float()
    w.g = torch.from_numpy(x.T @ d + (h.T @ g).T).float()


# %% right: row by row
import torch


def tied_weights_grad(inp, out, w):
    inp.g = torch.zeros(inp.shape)
    w.g = torch.zeros(w.shape)
    for i in range(len(inp)):
        h = torch.tanh(inp[i] @ w)
        g = (out.g[i] @ w) * (1 + h) * (1 - h)
        inp.g[i] = w @ g
        w.g += torch.outer(inp[i], g)
        w.g += torch.outer(out.g[i], h)


# %% right: w.g stored by one use, added to by the other
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()

    def add(t, g):
        t.g = getattr(t, "g", 0) + g

    add(w, out.g.t() @ h)
    h.g = out.g @ w
    l_g = h.g - h.g * h * h
    add(w, inp.t() @ l_g)
    add(inp, l_g @ w.t())


# %% right: lin_grad for each use, added at the end
def lin_grad(i, o_g, w):
    return o_g @ w.t(), i.t() @ o_g


def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    h_g, decoder_g = lin_grad(h, out.g, w.t())
    inp.g, encoder_g = lin_grad(inp, h_g * (1 - h.pow(2)), w)
    w.g = encoder_g + decoder_g.t()


# %% right: einsum for one use, a transposed product for the other
import torch


def tied_weights_grad(inp, out, w):
    h = torch.tanh(inp @ w)
    as_decoder = (h.t() @ out.g).t()
    s = (out.g @ w) * (1 + h) * (1 - h)
    inp.g = torch.einsum("bm,nm->bn", s, w)
    w.g = torch.einsum("bn,bm->nm", inp, s) + as_decoder


# %% wrong: out.g itself in inp.g | inp.g: missing-local or unknown or wrong-operand
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = out.g
    w.g = inp.t() @ l_g + out.g.t() @ h


# %% wrong: tanh's derivative taken before the tanh, in inp.g alone | inp.g: wrong-point
def tied_weights_grad(inp, out, w):
    sums = inp @ w
    h = sums.tanh()
    s = (out.g @ w) * (1 - h * h)
    inp.g = ((out.g @ w) * (1 - sums**2)) @ w.t()
    w.g = inp.t() @ s + out.g.t() @ h


# %% wrong: tanh applied twice in inp.g | inp.g: wrong-point
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    s = (out.g @ w) * (1 - h**2)
    inp.g = ((out.g @ w) * (1 - h.tanh() ** 2)) @ w.t()
    w.g = inp.t() @ s + out.g.t() @ h


# %% wrong: out.g added to inp.g, as if there were a residual path | inp.g: wrong-local
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    hg = (out.g @ w) * (1 - h * h)
    inp.g = hg @ w.t() + out.g
    w.g = inp.t() @ hg + out.g.t() @ h


# %% wrong: upstream gradient missing in the first use | w.g: missing-upstream
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    s = (out.g @ w) * (1 - h**2)
    inp.g = s @ w.t()
    w.g = inp.t() @ (1 - h**2) + out.g.t() @ h


# %% wrong: contribution of the second use overwrites that of the first | w.g: missing-path
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    g = (out.g @ w) * (1 - h ** 2)
    inp.g = g @ w.t()
    w.g = inp.t() @ g
    w.g = out.g.t() @ h


# %% wrong: only the contribution of the second use | w.g: missing-path
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h * h)
    inp.g = l_g @ w.t()
    w.g = (h.t() @ out.g).t()


# %% wrong: contribution of the first use doubled, that of the second missing | w.g: missing-path
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    dh = out.g @ w * (1 - h * h)
    inp.g = dh @ w.t()
    w.g = 2 * (inp.t() @ dh)


# %% wrong: only the contribution of the first use | w.g: missing-path
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = inp.t() @ l_g


# %% wrong: contribution of the first use overwrites that of the second | w.g: missing-path or overwritten
def tied_weights_grad(inp, out, w):
    def lin(i, o_g, weight):
        weight.g = i.t() @ o_g
        return o_g @ weight.t()

    h = (inp @ w).tanh()
    w.g = out.g.t() @ h
    h_g = out.g @ w
    inp.g = lin(inp, h_g * (1 - h**2), w)


# %% wrong: w.g averaged over the batch | w.g: mean-for-sum
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = (inp.t() @ l_g + out.g.t() @ h) / len(inp)


# %% wrong: contribution of the second use subtracted | w.g: wrong-sign
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    s = (out.g @ w) * (1 - h * h)
    inp.g = s @ w.t()
    w.g = inp.t() @ s - out.g.t() @ h


# %% wrong: contribution of the first use subtracted | w.g: wrong-sign
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = out.g.t() @ h - inp.t() @ l_g


# %% wrong: both contributions to w.g doubled | w.g: wrong-factor or extra-factor or missing-path
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = 2 * (inp.t() @ l_g + out.g.t() @ h)


# %% wrong: tanh left out where the second use takes h | w.g: wrong-operand or wrong-point
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = inp.t() @ l_g + out.g.t() @ (inp @ w)


# %% wrong: inp used in place of out.g in the second use | w.g: wrong-operand
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    dh = out.g @ w * (1 - h**2)
    inp.g = dh @ w.t()
    w.g = inp.t() @ dh + inp.t() @ h


# %% wrong: out used in place of out.g in the second use | w.g: value-for-gradient
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    s = (out.g @ w) * (1 - h**2)
    inp.g = s @ w.t()
    w.g = inp.t() @ s + out.t() @ h


# %% wrong: h used in place of its gradient in the first use | w.g: value-for-gradient or wrong-operand
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    s = (out.g @ w) * (1 - h**2)
    inp.g = s @ w.t()
    w.g = inp.t() @ h + out.g.t() @ h


# %% wrong: ones in place of out.g | inp.g, w.g: missing-upstream
import torch


def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    ones = torch.ones_like(out)
    l_g = (ones @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = inp.t() @ l_g + ones.t() @ h


# %% wrong: tanh not differentiated | inp.g, w.g: missing-local
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    h_g = out.g @ w
    inp.g = h_g @ w.t()
    w.g = inp.t() @ h_g + out.g.t() @ h


# %% wrong: tanh's derivative taken before the tanh, in both gradients | inp.g, w.g: wrong-point
def tied_weights_grad(inp, out, w):
    a = inp @ w
    h = a.tanh()
    g = (out.g @ w) * (1 - a ** 2)
    inp.g = g @ w.t()
    w.g = inp.t() @ g + out.g.t() @ h


# %% wrong: contribution of the second use not transposed | w.g: error
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = inp.t() @ l_g + h.t() @ out.g


# %% wrong: weights that are 0 are not connected | w.g: wrong-local
def tied_weights_grad(inp, out, w):
    hidden = (inp @ w).tanh()
    pre_g = out.g @ w * (1 - hidden**2)
    inp.g = pre_g @ w.t()
    w.g = (inp.t() @ pre_g + out.g.t() @ hidden) * (w != 0)
