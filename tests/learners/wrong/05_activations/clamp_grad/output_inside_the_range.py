# expect inp.g: missing-local | wrong-point
def clamp_grad(inp, out, lo, hi):
    inp.g = ((out >= lo) & (out <= hi)) * out.g
