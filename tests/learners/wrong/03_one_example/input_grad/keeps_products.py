# expect return: elementwise-for-matmul | wrong-shape
def input_grad(x, w, b, df):
    return w * df
