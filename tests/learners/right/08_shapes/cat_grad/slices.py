def cat_grad(a, b, out, dim):
    cut = [slice(None)] * out.dim()
    cut[dim] = slice(None, a.size(dim))
    a.g = out.g[tuple(cut)].clone()
    cut[dim] = slice(a.size(dim), None)
    b.g = out.g[tuple(cut)].clone()
