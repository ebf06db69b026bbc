# expect inp.g: hard-coded | wrong-local
def clamp_grad(inp, out, lo, hi):
    inp.g = (inp.abs() < hi) * out.g
