# expect *: syntax-error
def inv_grad(inp, out):
    local = -1 / inp**2
     inp.g = out.g * local
