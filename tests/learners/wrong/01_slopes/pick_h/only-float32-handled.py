# expect return: missing-answer
import torch


def pick_h(dtype):
    if dtype == torch.float32:
        return 5e-3
