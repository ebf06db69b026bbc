# expect a.g: reshape-for-transpose
# expect b.g: reshape-for-transpose
def bmm_grad(a, b, out):
    bs, n, k = a.shape
    m = b.shape[2]
    a.g = out.g @ b.reshape(bs, m, k)
    b.g = a.reshape(bs, k, n) @ out.g
