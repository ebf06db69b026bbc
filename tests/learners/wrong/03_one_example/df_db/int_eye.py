# expect return: wrong-dtype
import torch
def df_db(x, w, b):
    m = b.shape[0]
    rows = [[1 if i == j else 0 for j in range(m)] for i in range(m)]
    return torch.tensor(rows)
