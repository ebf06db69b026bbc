def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * (out + s * (1 - out))
