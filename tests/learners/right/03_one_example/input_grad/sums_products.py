def input_grad(x, w, b, df):
    return (w * df).sum(-1)
