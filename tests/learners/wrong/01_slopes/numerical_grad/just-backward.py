# expect return: used-autograd
def numerical_grad(f, x, h):
    x = x.clone().requires_grad_(True)
    f(x).backward()
    return x.grad
