# expect inp.g: elementwise-for-matmul
def linear_grad(inp, out, weight, bias):
    inp.g = out.g[:, :, None] * weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)
