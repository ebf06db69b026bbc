# expect b.g: todo
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = ...
