# expect a.g: forward-value | value-for-gradient
# expect b.g: forward-value | value-for-gradient
def cat_grad(a, b, out, dim):
    a.g, b.g = out.split([a.shape[dim], b.shape[dim]], dim)
