# expect inp.g: wrong-sign
# expect weight.g: wrong-sign
# expect bias.g: wrong-sign
def linear_grad(inp, out, weight, bias):
    # we go downhill, so the minus goes in here
    g = -out.g
    inp.g = g @ weight
    weight.g = g.t() @ inp
    bias.g = g.sum(0)
