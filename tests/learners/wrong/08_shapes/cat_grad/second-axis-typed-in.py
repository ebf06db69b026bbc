# expect a.g: hard-coded | wrong-shape
# expect b.g: hard-coded | wrong-shape
def cat_grad(a, b, out, dim):
    a.g = out.g[:, : a.shape[1]]
    b.g = out.g[:, a.shape[1] :]
