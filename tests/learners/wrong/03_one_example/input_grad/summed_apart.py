# expect return: sum-of-products
def input_grad(x, w, b, df):
    return w.sum(1) * df.sum()
