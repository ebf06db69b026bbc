# expect b.g: transposed
def bmm_grad(a, b, out):
    a.g = out.g @ b.transpose(1, 2)
    b.g = out.g.transpose(1, 2) @ a
