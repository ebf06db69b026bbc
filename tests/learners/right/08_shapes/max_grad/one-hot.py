import torch


def max_grad(inp, out, dim):
    n = inp.shape[dim]
    onehot = torch.nn.functional.one_hot(inp.argmax(dim), n).movedim(-1, dim)
    inp.g = onehot.float() * out.g.unsqueeze(dim)
