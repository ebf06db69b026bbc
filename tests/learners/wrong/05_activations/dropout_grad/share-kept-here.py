# expect inp.g: wrong-factor | hard-coded
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask / mask.mean()
