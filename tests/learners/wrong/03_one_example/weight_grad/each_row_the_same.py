# expect return: missing-local
def weight_grad(x, w, b, df):
    return df.expand(w.shape)
