# expect return: wrong-shape
def bias_grad(x, w, b, df):
    return df.sum()
