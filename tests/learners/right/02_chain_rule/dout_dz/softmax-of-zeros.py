import torch


def dout_dz(z):
    return (z * 0).flatten().softmax(0).reshape(z.shape)
