def silu_grad(inp, out):
    e = (-inp).exp()
    inp.g = out.g / (1 + e) + out.g * inp * e / (1 + e) ** 2
