exp_grad = lambda inp, out: setattr(inp, "g", out.g * out)
