# expect b.g: wrong-type
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = [column.sum().item() for column in out.g.t()]
