# expect w.g: mean-for-sum
# expect b.g: mean-for-sum
def lin_grad(inp, out, w, b):
    bs = inp.shape[0]
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g / bs
    b.g = out.g.mean(0)
