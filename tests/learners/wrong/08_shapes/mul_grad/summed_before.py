# expect a.g: sum-of-products | wrong-shape
def mul_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape) * (b + 0 * out).sum_to_size(a.shape)
    b.g = (out.g * a).sum_to_size(b.shape)
