# expect inp.g: hard-coded
# expect w.g: hard-coded
# expect b.g: hard-coded
def lin_grad(inp, out, w, b):
    g = (inp @ w + b) - out
    inp.g = g @ w.t()
    w.g = inp.t() @ g
    b.g = g.sum(0)
