def shifted_relu_grad(inp, out):
    inp.g = out.g * ((out + 0.5) > 0).float()
