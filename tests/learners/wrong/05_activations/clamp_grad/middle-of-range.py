# expect inp.g: wrong-local
def clamp_grad(inp, out, lo, hi):
    inp.g = (inp > (lo + hi) / 2) * out.g
