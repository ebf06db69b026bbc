# expect inp.g: wrong-local | hard-coded
def clamp_grad(inp, out, lo, hi):
    inp.g = ((inp > -1) & (inp < 1)) * out.g
