# expect *: error
def lin_grad_needed(inp, out, w, b, needs):
    if needs["inp"]:
        inp.g = out.g @ w.t()
    if needs["w"]:
        w.g = inp.t() @ out.g
    if needs["b"]:
        b.g = out.g.sum(0)
