# expect b.g: wrong-sign
def add_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape)
    b.g = -out.g.sum_to_size(b.shape)
