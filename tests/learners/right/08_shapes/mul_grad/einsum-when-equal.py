def mul_grad(a, b, out):
    for t, other in ((a, b), (b, a)):
        g = (out.g.double() * other.double())
        lead = g.ndim - t.ndim
        g = g.sum(tuple(range(lead))) if lead else g
        keep = tuple(i for i in range(t.ndim) if t.shape[i] == 1 and g.shape[i] > 1)
        t.g = (g.sum(keep, True) if keep else g).to(t.dtype)
