import torch


def df_db(x, w, b):
    return torch.eye(len(b))


def bias_grad(x, w, b, df):
    return torch.matmul(df, df_db(x, w, b))
