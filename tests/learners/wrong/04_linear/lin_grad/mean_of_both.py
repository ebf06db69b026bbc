# expect w.g: mean-for-sum
# expect b.g: mean-for-sum
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g / inp.shape[0]
    b.g = out.g.mean(0)
