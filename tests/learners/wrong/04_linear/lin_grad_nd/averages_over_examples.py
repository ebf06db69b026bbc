# expect w.g: mean-for-sum
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp.transpose(1, 2) @ out.g).mean(0)
    b.g = out.g.sum((0, 1))
