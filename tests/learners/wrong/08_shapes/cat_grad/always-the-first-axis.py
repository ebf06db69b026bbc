# expect a.g: hard-coded | wrong-shape
# expect b.g: hard-coded | wrong-shape
def cat_grad(a, b, out, dim):
    a.g = out.g[: len(a)]
    b.g = out.g[len(a) :]
