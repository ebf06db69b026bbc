# expect inp.g: wrong-local | unknown
def mse_grad_nd(inp, targ):
    d = inp - targ
    inp.g = d / d.norm(dim=1, keepdim=True) / len(inp)
