def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()

    def add(t, g):
        t.g = getattr(t, "g", 0) + g

    add(w, out.g.t() @ h)
    h.g = out.g @ w
    l_g = h.g - h.g * h * h
    add(w, inp.t() @ l_g)
    add(inp, l_g @ w.t())
