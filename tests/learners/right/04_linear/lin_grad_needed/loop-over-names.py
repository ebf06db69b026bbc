def lin_grad_needed(inp, out, w, b, needs):
    g = out.g
    for name in needs:
        if name == "inp":
            inp.g = g @ w.t()
        elif name == "w":
            w.g = inp.t() @ g
        else:
            b.g = g.sum(0)
