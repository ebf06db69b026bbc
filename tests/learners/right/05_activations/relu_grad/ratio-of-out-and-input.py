def relu_grad(inp, out):
    inp.g = out.g * (out / inp).round()
