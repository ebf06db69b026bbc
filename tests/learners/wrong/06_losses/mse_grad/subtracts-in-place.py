# expect inp.g: mutated-input
def mse_grad(inp, targ):
    inp -= targ.unsqueeze(-1)
    inp.g = 2 * inp / inp.shape[0]
