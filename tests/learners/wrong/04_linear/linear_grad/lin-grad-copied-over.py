# expect *: missing-function
def lin_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)
