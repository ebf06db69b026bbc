def mse_grad(inp, targ):
    inp.g = 2.0 * (inp.squeeze() - targ).unsqueeze(-1) / inp.shape[0]
