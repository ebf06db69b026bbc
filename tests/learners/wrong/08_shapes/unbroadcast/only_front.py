# expect return: missing-batch-sum | wrong-shape
def unbroadcast(g, shape):
    extra = g.ndim - len(shape)
    return g.sum(tuple(range(extra))) if extra else g
