def relu_grad(inp, out, slope=1.0, negative_slope=0.0):
    s = (inp.sign() + 1) / 2
    inp.g = out.g * (s * slope + (1 - s) * negative_slope)
