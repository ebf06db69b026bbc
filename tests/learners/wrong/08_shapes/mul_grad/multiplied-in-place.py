# expect *: mutated-input
def mul_grad(a, b, out):
    a.g = (out.g.clone() * b).sum_to_size(a.shape)
    out.g *= a
    b.g = out.g.sum_to_size(b.shape)
