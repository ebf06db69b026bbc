# expect weight.g: transposed
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = inp.t() @ out.g
    bias.g = out.g.sum(0)
