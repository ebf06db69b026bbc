# expect b.g: extra-batch-sum
def bmm_grad(a, b, out):
    a.g = out.g @ b.transpose(1, 2)
    b.g = (a.transpose(1, 2) @ out.g).sum(0).expand(b.shape)
