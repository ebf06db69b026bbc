# expect return: elementwise-for-matmul
def input_grad(x, w, b, df):
    return w * df
