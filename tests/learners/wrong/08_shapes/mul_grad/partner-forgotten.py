# expect a.g: missing-local
# expect b.g: missing-local
def mul_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape)
    b.g = out.g.sum_to_size(b.shape)
