def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = s * (1 + inp * (1 - s)) * out.g
