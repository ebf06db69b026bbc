# expect *: error
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight.t()
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)
