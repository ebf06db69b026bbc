# expect return: wrong-shape | extra-batch-sum | summed-wrong-axis
def unbroadcast(g, shape):
    return g.sum()
