# expect inp.g: wrong-factor
def mse_grad_nd(inp, targ):
    d = inp - targ
    inp.g = d / d.norm(dim=1, keepdim=True) / len(inp)
