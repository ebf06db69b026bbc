# expect return: wrong-operand
import torch
def df_dx(x, w, b):
    return torch.stack([x for _ in b])
