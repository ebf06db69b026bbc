# expect inp.g: wrong-operand
def linear_grad(inp, out, weight, bias):
    inp.g = (out.g - bias) @ weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)
