# expect b.g: partial-batch | wrong-operand
def bmm_grad(a, b, out):
    a.g = out.g @ b.transpose(1, 2)
    b.g = a[0].t() @ out.g
