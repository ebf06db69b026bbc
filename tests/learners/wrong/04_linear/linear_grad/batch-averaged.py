# expect weight.g: mean-for-sum
# expect bias.g: mean-for-sum
def linear_grad(inp, out, weight, bias):
    g = out.g / len(inp)
    inp.g = out.g @ weight
    weight.g = g.t() @ inp
    bias.g = g.sum(0)
