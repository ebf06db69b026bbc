def bmm_grad(a, b, out):
    a.g = (out.g[:, :, None, :] * b[:, None, :, :]).sum(-1)
    b.g = (a[:, :, :, None] * out.g[:, :, None, :]).sum(1)
