# expect return: reshape-for-transpose
def input_grad(x, w, b, df):
    n, m = w.shape
    return df @ w.reshape(m, n)
