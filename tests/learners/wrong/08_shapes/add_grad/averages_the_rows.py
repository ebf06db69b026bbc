# expect a.g: mean-for-sum
def add_grad(a, b, out):
    count = out.numel() / a.numel()
    a.g = out.g.sum_to_size(a.shape) / count
    b.g = out.g.sum_to_size(b.shape)
