# expect inp.g: partial-batch
def relu_grad(inp, out):
    g = out.g * (inp > 0)
    inp.g = g[-1:].expand_as(inp)
