def sigmoid_grad(inp, out):
    e = (-inp).exp()
    inp.g = out.g * e / (1 + e) ** 2
