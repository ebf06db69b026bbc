# expect a.g: wrong-operand
# expect b.g: wrong-operand
def cat_grad(a, b, out, dim):
    b.g = out.g.narrow(dim, 0, b.shape[dim])
    a.g = out.g.narrow(dim, b.shape[dim], a.shape[dim])
