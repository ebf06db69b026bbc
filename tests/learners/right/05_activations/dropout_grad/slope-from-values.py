def dropout_grad(inp, out, mask, p):
    inp.g = out / inp * out.g
