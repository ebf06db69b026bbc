# expect a.g: value-for-gradient
# expect b.g: value-for-gradient
def bmm_grad(a, b, out):
    a.g = out @ b.mT
    b.g = a.mT @ out
