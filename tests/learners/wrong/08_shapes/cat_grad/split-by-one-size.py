# expect a.g: error | wrong-shape
# expect b.g: error | wrong-shape
def cat_grad(a, b, out, dim):
    a.g, b.g = out.g.split(a.shape[dim], dim)
