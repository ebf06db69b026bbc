# expect w.g: missing-path | overwritten
def tied_weights_grad(inp, out, w):
    def lin(i, o_g, weight):
        weight.g = i.t() @ o_g
        return o_g @ weight.t()

    h = (inp @ w).tanh()
    w.g = out.g.t() @ h
    h_g = out.g @ w
    inp.g = lin(inp, h_g * (1 - h**2), w)
