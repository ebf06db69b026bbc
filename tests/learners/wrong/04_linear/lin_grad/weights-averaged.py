# expect w.g: mean-for-sum
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp.unsqueeze(-1) * out.g.unsqueeze(1)).mean(0)
    b.g = out.g.sum(0)
