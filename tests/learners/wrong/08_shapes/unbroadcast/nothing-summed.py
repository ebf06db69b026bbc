# expect return: missing-batch-sum
def unbroadcast(g, shape):
    return g
