# expect a.g: missing-batch-sum
# expect b.g: missing-batch-sum
def add_grad(a, b, out):
    a.g = out.g
    b.g = out.g
