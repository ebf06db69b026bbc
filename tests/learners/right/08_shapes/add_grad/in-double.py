def add_grad(a, b, out):
    def back(t):
        g = out.g.double()
        for axis in range(out.dim() - t.dim()):
            g = g.sum(axis, keepdim=True)
        g = g.flatten(0, out.dim() - t.dim()) if out.dim() > t.dim() else g
        for axis in range(t.dim()):
            if t.shape[axis] < g.shape[axis]:
                g = g.sum(axis, keepdim=True)
        return g.float()

    a.g, b.g = back(a), back(b)
