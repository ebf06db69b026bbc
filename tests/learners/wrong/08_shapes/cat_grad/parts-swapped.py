# expect a.g: wrong-operand
# expect b.g: wrong-operand
def cat_grad(a, b, out, dim):
    b.g, a.g = out.g.split([a.shape[dim], b.shape[dim]], dim)
