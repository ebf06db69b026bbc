def linear_grad(inp, out, weight, bias):
    w = weight.t()
    inp.g = out.g @ w.t()
    weight.g = (inp.t() @ out.g).t()
    bias.g = out.g.sum(dim=0)
