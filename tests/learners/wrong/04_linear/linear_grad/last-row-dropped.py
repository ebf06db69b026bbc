# expect weight.g: partial-batch
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.g[:-1].t() @ inp[:-1]
    bias.g = out.g.sum(0)
