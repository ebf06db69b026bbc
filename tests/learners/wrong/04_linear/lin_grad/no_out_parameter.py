# expect *: error
def lin_grad(inp, w, b):
    inp.g = b.g @ w.t()
    w.g = inp.t() @ b.g
