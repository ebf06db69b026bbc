# expect a.g: shape-special | wrong-shape
# expect b.g: shape-special | wrong-shape
def cat_grad(a, b, out, dim):
    half = out.shape[dim] // 2
    a.g = out.g.narrow(dim, 0, half)
    b.g = out.g.narrow(dim, half, out.shape[dim] - half)
