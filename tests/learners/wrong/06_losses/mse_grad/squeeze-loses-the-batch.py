# expect inp.g: shape-special
def mse_grad(inp, targ):
    diff = inp.squeeze() - targ.squeeze()
    inp.g = (2 * diff / diff.numel()).unsqueeze(-1)
