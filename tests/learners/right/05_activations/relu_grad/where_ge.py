import torch
def relu_grad(inp, out):
    # slope 1 at the kink is fine too
    inp.g = torch.where(inp >= 0, out.g, torch.zeros(inp.shape))
