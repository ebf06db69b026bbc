def linear_grad(inp, out, weight, bias):
    g, x, W = (t.double() for t in (out.g, inp, weight))
    inp.g = (g @ W).to(inp.dtype)
    weight.g = (g.T @ x).to(weight.dtype)
    bias.g = g.sum(0).to(bias.dtype)
