# expect b.g: wrong-operand
def cat_grad(a, b, out, dim):
    a.g = out.g.narrow(dim, 0, a.shape[dim])
    b.g = out.g.narrow(dim, 0, b.shape[dim])
