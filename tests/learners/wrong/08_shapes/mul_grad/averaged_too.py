# expect a.g: mean-for-sum
def mul_grad(a, b, out):
    a.g = (out.g * b).sum_to_size(a.shape) * a.numel() / out.numel()
    b.g = (out.g * a).sum_to_size(b.shape)
