# expect inp.g: wrong-point
def tied_weights_grad(inp, out, w):
    sums = inp @ w
    h = sums.tanh()
    s = (out.g @ w) * (1 - h * h)
    inp.g = ((out.g @ w) * (1 - sums**2)) @ w.t()
    w.g = inp.t() @ s + out.g.t() @ h
