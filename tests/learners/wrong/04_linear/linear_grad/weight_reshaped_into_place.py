# expect weight.g: reshape-for-transpose
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = (inp.t() @ out.g).reshape(weight.shape)
    bias.g = out.g.sum(0)
