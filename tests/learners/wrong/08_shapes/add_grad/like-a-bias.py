# expect a.g: missing-batch-sum
# expect b.g: missing-batch-sum | wrong-shape | summed-wrong-axis
def add_grad(a, b, out):
    a.g = out.g
    b.g = out.g.sum(0)
