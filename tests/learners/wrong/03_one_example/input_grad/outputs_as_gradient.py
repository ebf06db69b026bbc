# expect return: value-for-gradient
def input_grad(x, w, b, df):
    return w @ (x @ w + b)
