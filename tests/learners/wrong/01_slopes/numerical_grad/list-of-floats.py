# expect return: wrong-type
import torch


def numerical_grad(f, x, h):
    answers = []
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        answers.append(float(f(x + e) - f(x - e)) / (2 * h))
    return answers
