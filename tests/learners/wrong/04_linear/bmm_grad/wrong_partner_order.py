# expect b.g: wrong-operand
def bmm_grad(a, b, out):
    a.g = out.g @ b.mT
    b.g = a.flip(0).mT @ out.g
