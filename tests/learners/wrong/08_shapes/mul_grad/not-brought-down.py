# expect a.g: missing-batch-sum
# expect b.g: missing-batch-sum
def mul_grad(a, b, out):
    a.g = out.g * b
    b.g = out.g * a
