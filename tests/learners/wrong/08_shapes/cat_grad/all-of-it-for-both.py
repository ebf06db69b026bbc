# expect a.g: missing-local | wrong-shape
# expect b.g: missing-local | wrong-shape
def cat_grad(a, b, out, dim):
    a.g = out.g
    b.g = out.g
