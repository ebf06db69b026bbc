# expect inp.g: missing-upstream
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = gate + out * (1 - gate) * out.g
