# expect inp.g: extra-batch-sum
def linear_grad(inp, out, weight, bias):
    inp.g = (out.g @ weight).sum(dim=0)
    weight.g = (out.g[:, :, None] * inp[:, None, :]).sum(dim=0)
    bias.g = out.g.sum(dim=0)
