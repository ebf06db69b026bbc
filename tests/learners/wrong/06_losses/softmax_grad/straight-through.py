# expect inp.g: missing-local
def softmax_grad(inp, out):
    inp.g = out.g * torch.ones_like(inp)


import torch  # at the end of the file, and found all the same
