# expect return: extra-factor
def input_grad(x, w, b, df):
    return x * (w @ df)
