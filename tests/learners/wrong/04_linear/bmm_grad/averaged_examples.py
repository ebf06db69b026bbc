# expect a.g: extra-batch-sum | mean-for-sum
def bmm_grad(a, b, out):
    a.g = (out.g @ b.transpose(1, 2)).mean(0).expand(a.shape)
    b.g = a.transpose(1, 2) @ out.g
