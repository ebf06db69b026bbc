# expect return: error
def input_grad(x, w, b, df):
    return w @ df + b
