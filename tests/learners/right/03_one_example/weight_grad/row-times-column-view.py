def weight_grad(x, w, b, df):
    flipped = df.unsqueeze(1) @ x.unsqueeze(0)
    return flipped.t()
