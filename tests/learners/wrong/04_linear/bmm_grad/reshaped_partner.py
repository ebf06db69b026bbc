# expect a.g: reshape-for-transpose
def bmm_grad(a, b, out):
    bs, k, m = b.shape
    a.g = out.g @ b.reshape(bs, m, k)
    b.g = a.transpose(1, 2) @ out.g
