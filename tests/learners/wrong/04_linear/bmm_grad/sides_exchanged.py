# expect a.g: error
# expect b.g: error
def bmm_grad(a, b, out):
    a.g = b.transpose(1, 2) @ out.g
    b.g = out.g @ a.transpose(1, 2)
