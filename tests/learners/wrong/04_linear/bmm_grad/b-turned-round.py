# expect b.g: transposed
def bmm_grad(a, b, out):
    a.g = out.g @ b.mT
    b.g = out.g.mT @ a
