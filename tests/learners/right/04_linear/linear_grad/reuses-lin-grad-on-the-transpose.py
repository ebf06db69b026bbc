def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


def linear_grad(inp, out, weight, bias):
    w = weight.t()
    lin_grad(inp, out, w, bias)
    weight.g = w.g.t()
