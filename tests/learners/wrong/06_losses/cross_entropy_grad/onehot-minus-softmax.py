# expect inp.g: wrong-sign
import torch.nn.functional as F


def cross_entropy_grad(inp, targ):
    inp.g = (F.one_hot(targ, inp.shape[1]) - inp.softmax(1)) / len(inp)
