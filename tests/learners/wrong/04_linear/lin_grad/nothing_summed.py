# expect w.g: missing-batch-sum
# expect b.g: missing-batch-sum
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.unsqueeze(-1) * out.g.unsqueeze(1)
    b.g = out.g
