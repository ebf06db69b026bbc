# expect weight.g: value-for-gradient
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.t() @ inp
    bias.g = out.g.sum(0)
