# expect return: sum-of-products | summed-wrong-axis
def weight_grad(x, w, b, df):
    return x.sum() * df.expand(w.shape)
