def cat_grad(a, b, out, dim):
    g = out.g.movedim(dim, 0)
    n = a.movedim(dim, 0).shape[0]
    a.g = g[:n].movedim(0, dim)
    b.g = g[n:].movedim(0, dim)
