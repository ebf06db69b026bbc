# expect a.g: wrong-local
# expect b.g: wrong-local
def div_grad(a, b, out):
    a.g = out.g * b
    b.g = out.g * a
