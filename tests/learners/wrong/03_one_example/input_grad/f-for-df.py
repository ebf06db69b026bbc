# expect return: value-for-gradient
def input_grad(x, w, b, df):
    f = x @ w + b
    return w @ f
