# expect a.g: value-for-gradient
# expect b.g: value-for-gradient
def add_grad(a, b, out):
    a.g = out.sum_to_size(a.shape)
    b.g = out.sum_to_size(b.shape)
