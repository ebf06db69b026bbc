# expect inp.g: extra-batch-sum | hard-coded
def mse_grad(inp, targ):
    inp.g = (2 * (inp.squeeze(-1) - targ) / len(targ)).mean().expand(len(targ), 1)
