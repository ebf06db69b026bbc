def input_grad(x, w, b, df):
    total = 0
    for j in range(len(df)):
        total = total + w[:, j] * df[j]
    return total
