# expect inp.g: forward-value | wrong-local
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.nn.functional.one_hot(targ, inp.shape[1])
    inp.g = -hot * inp.log_softmax(-1) / len(targ)
