def weight_grad(x, w, b, df):
    return x.view(-1, 1) @ df.view(1, -1)
