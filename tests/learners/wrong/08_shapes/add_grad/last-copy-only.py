# expect a.g: partial-batch
# expect b.g: partial-batch
def add_grad(a, b, out):
    for t in (a, b):
        g = out.g
        while g.dim() > t.dim():
            g = g[-1]
        for i, s in enumerate(t.shape):
            if s == 1:
                g = g.narrow(i, g.shape[i] - 1, 1)
        t.g = g.clone()
