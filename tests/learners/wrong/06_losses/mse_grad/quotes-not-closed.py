# expect *: syntax-error
def mse_grad(inp, targ):
    """Gradient of the mean squared error.
    inp.g = 2 * (inp.squeeze(-1) - targ).unsqueeze(-1) / inp.shape[0]
