# expect a.g: shape-special | wrong-shape
# expect b.g: shape-special | wrong-shape
def cat_grad(a, b, out, dim):
    a.g, b.g = out.g.chunk(2, dim)
