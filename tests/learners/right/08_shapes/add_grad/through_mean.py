def add_grad(a, b, out):
    for x in (a, b):
        g = out.g
        while g.dim() > x.dim():
            g = g.mean(0) * g.shape[0]
        for axis in range(x.dim()):
            if x.shape[axis] < g.shape[axis]:
                g = g.sum(axis, keepdim=True)
        x.g = g
