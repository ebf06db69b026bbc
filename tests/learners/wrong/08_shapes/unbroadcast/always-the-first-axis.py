# expect return: missing-batch-sum | wrong-shape | summed-wrong-axis
def unbroadcast(g, shape):
    return g.sum(0)
