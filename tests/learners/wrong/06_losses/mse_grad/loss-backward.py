# expect inp.g: used-autograd
def mse_grad(inp, targ):
    x = inp.clone().requires_grad_()
    loss = (x.squeeze(-1) - targ).pow(2).mean()
    loss.backward()
    inp.g = x.grad
