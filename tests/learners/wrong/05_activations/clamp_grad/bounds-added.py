# expect inp.g: inverted-mask | wrong-local | hard-coded
def clamp_grad(inp, out, lo, hi):
    inp.g = ((inp < lo) & (inp > hi)) * out.g
