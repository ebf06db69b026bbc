# expect bias.g: wrong-shape | summed-wrong-axis
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(-1)
