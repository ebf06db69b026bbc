# expect a.g: wrong-local
# expect b.g: wrong-local
def mul_grad(a, b, out):
    a.g = (out.g + b).sum_to_size(a.shape)
    b.g = (out.g + a).sum_to_size(b.shape)
