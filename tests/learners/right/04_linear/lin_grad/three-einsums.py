from torch import einsum


def lin_grad(inp, out, w, b):
    inp.g = einsum("bm,nm->bn", out.g, w)
    w.g = einsum("bn,bm->nm", inp, out.g)
    b.g = einsum("bm->m", out.g)
