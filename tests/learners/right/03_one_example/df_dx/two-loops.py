import torch


def df_dx(x, w, b):
    J = torch.zeros(len(b), len(x))
    for j in range(len(b)):
        for i in range(len(x)):
            J[j, i] = w[i, j]
    return J
