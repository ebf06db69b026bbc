# expect inp.g: returned-not-stored
def mse_grad(inp, targ):
    diff = inp.squeeze(-1) - targ
    return (2 * diff / len(diff)).unsqueeze(-1)
