def weight_grad(x, w, b, df):
    return x[:, None] @ df[None, :]
