# expect inp.g: wrong-point | wrong-local
# expect w.g: wrong-point | wrong-local
def tied_weights_grad(inp, out, w):
    l1 = inp @ w
    h = l1.tanh()
    l_g = (out.g @ w) * (1 - l1**2)
    inp.g = l_g @ w.t()
    w.g = inp.t() @ l_g + out.g.t() @ h
