import torch


class Tanh:
    def __init__(self, y):
        self.y = y

    def pull_back(self, g):
        return torch.addcmul(g, g * self.y, self.y, value=-1)


def tanh_grad(inp, out):
    inp.g = Tanh(out).pull_back(out.g)
