# expect a.g: partial-batch
def mul_grad(a, b, out):
    g = out.g * b
    while g.dim() > a.dim():
        g = g[0]
    for i, s in enumerate(a.shape):
        if s == 1:
            g = g.narrow(i, 0, 1)
    a.g = g
    b.g = (out.g * a).sum_to_size(b.shape)
