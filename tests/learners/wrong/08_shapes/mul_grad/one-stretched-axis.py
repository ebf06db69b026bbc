# expect a.g: wrong-shape
def mul_grad(a, b, out):
    def back(g, t):
        while g.dim() > t.dim():
            g = g.sum(0)
        for i, n in enumerate(t.shape):
            if n == 1 and g.shape[i] != 1:
                return g.sum(i, keepdim=True)
        return g

    a.g = back(out.g * b, a)
    b.g = back(out.g * a, b)
