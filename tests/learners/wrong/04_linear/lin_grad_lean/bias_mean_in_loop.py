# expect b.g: overwritten | partial-batch
def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    for row in out.g:
        b.g = row.clone()
