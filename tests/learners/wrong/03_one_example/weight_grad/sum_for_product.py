# expect return: wrong-local | unknown
def weight_grad(x, w, b, df):
    return x.unsqueeze(1) + df
