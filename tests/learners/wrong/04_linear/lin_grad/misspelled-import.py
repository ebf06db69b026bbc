# expect *: error
import troch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = troch.sum(out.g, 0)
