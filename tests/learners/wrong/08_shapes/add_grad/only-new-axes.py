# expect a.g: missing-batch-sum
# expect b.g: missing-batch-sum
def add_grad(a, b, out):
    for t in (a, b):
        g = out.g
        while g.dim() > t.dim():
            g = g.sum(0)
        t.g = g
