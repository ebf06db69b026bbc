def cat_grad(a, b, out, dim):
    a.g, b.g = out.g.split([a.size(dim), b.size(dim)], dim)
