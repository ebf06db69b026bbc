# expect *: error
def bmm_grad(a, b, out):
    a.g = out.g @ b.t()
    b.g = a.t() @ out.g
