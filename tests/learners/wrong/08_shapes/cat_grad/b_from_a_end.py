# expect b.g: wrong-operand
def cat_grad(a, b, out, dim):
    n = a.shape[dim]
    a.g = out.g.narrow(dim, 0, n)
    b.g = out.g.narrow(dim, n - 1, b.shape[dim])
