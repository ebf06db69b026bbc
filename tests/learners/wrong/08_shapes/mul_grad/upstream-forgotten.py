# expect a.g: missing-upstream
# expect b.g: missing-upstream
def mul_grad(a, b, out):
    a.g = b.expand(out.shape).sum_to_size(a.shape)
    b.g = a.expand(out.shape).sum_to_size(b.shape)
