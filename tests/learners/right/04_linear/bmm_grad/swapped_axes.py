def bmm_grad(a, b, out):
    a.g = out.g.bmm(b.swapaxes(1, 2))
    b.g = a.permute(0, 2, 1).bmm(out.g)
