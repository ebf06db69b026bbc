# expect b.g: wrong-sign
def cat_grad(a, b, out, dim):
    a.g, b.g = out.g.split([a.shape[dim], b.shape[dim]], dim)
    b.g = -b.g
