# expect inp.g: wrong-local
import torch


def cross_entropy_grad(inp, targ):
    eye = torch.eye(inp.shape[1])
    inp.g = (eye[inp.argmax(1)] - eye[targ]) / len(targ)
