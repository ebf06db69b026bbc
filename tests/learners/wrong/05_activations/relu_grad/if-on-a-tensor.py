# expect inp.g: error
def relu_grad(inp, out):
    if inp > 0:
        inp.g = out.g
    else:
        inp.g = 0
