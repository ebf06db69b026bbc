# expect return: wrong-type
def bias_grad(x, w, b, df):
    return df.tolist()
