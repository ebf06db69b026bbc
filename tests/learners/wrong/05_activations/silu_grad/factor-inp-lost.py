# expect inp.g: missing-local | wrong-operand
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (s + s * (1 - s)) * out.g
