# expect return: extra-batch-sum | wrong-shape
def bias_grad(x, w, b, df):
    return df.sum(0)
