# expect b.g: wrong-operand
def bmm_grad(a, b, out):
    a.g = out.g.bmm(b.transpose(1, 2))
    b.g = a.g.transpose(1, 2).bmm(out.g)
