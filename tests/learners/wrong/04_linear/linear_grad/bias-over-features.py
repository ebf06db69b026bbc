# expect bias.g: summed-wrong-axis
def linear_grad(inp, out, weight, bias):
    inp.g = out.g.matmul(weight)
    weight.g = out.g.t().matmul(inp)
    bias.g = out.g.sum(-1)
