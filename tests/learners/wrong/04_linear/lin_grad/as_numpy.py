# expect *: wrong-type
def lin_grad(inp, out, w, b):
    g = out.g.numpy()
    inp.g = g @ w.numpy().T
    w.g = inp.numpy().T @ g
    b.g = g.sum(0)
