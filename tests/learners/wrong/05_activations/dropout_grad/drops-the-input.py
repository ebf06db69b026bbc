# expect inp.g: forward-value
def dropout_grad(inp, out, mask, p):
    inp.g = inp * mask / (1 - p)
