# expect a.g: sum-of-products
# expect b.g: sum-of-products
def mul_grad(a, b, out):
    a.g = (out.g.sum_to_size(a.shape) * b).sum_to_size(a.shape)
    b.g = (out.g.sum_to_size(b.shape) * a).sum_to_size(b.shape)
