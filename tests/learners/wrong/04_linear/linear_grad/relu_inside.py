# expect inp.g: wrong-local
def linear_grad(inp, out, weight, bias):
    g = out.g * (out > 0)
    inp.g = g @ weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)
