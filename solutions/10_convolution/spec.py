"""Exercises of unit 10: convolution and pooling, in which one weight is used at many positions."""

from handgrad import Exercise, each_of, normal, output, sized, spaced, stored

_FEW, _SOME, _SHORT, _LONG = (2, 3, 4), (2, 3, 4, 5), (2, 3, 4), (7, 8, 9)


def _conv1d(inp, w, b):
    """out[:, o, i] = the sum over c and j of inp[:, c, i + j] * w[o, c, j], plus b[o]"""
    import torch

    return torch.nn.functional.conv1d(inp, w, b)


def _conv2d(inp, w, b, stride, padding):
    """out = torch.nn.functional.conv2d(inp, w, b, stride, padding)"""
    import torch

    return torch.nn.functional.conv2d(inp, w, b, stride, padding)


def _depthwise_conv1d(inp, w):
    """out[:, c, i] = the sum over j of inp[:, c, i + j] * w[c, j]"""
    import torch

    return torch.nn.functional.conv1d(inp, w.unsqueeze(1), groups=len(w))


def _avgpool2d(inp, size):
    """out = torch.nn.functional.avg_pool2d(inp, size)"""
    import torch

    return torch.nn.functional.avg_pool2d(inp, size)


unfold_grad = Exercise(
    title="Sliding windows, backwards",
    forward=lambda inp, size, step: inp.unfold(-1, size, step),
    inputs={
        "inp": sized(normal("bs t"), t=(7, 8, 9, 10, 11)),
        "out": output(),
        "size": each_of(3, 4, 2),
        "step": each_of(1, 2, 3),
    },
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Into how many windows is the third entry of a row copied? And the first?",
            "Each copy has its own upstream gradient, and all of them belong to the same entry: they add.",
            "Start from zeros in the shape of `inp`; window `i` begins at `i` times `step`; add its gradient to the "
            "entries in it.",
        ),
    },
)

conv1d_grad = Exercise(
    title="A convolution in one dimension, backwards",
    forward=_conv1d,
    inputs={
        "inp": sized(normal("bs c l"), bs=_FEW, c=_SOME, l=_LONG),
        "w": sized(normal("o c k"), o=(3, 4, 5, 6), k=_SHORT),
        "b": normal("o"),
        "out": output(),
    },
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "Which positions of `out` does `inp[0, 0, 3]` affect, and through which tap of the kernel does it reach "
            "each of them?",
            "Position 3 reaches position 3 of `out` through tap 0, and position 2 through tap 1. Follow one tap at a "
            "time.",
            "For each tap `j`: `out.g`, multiplied by `w[:, :, j]` and summed over `o`, is added into `inp.g`, "
            "beginning at position `j`.",
        ),
        "w.g": (
            "One tap `w[o, c, j]` is used at every position of every example. What is it multiplied by at each of "
            "them?",
            "At position `i` of `out` it is multiplied by `inp[b, c, i + j]`: the input, shifted by `j`.",
            "For each tap: the product of `out.g` with a slice of `inp` of the same length, summed over examples and "
            "positions.",
        ),
        "b.g": (
            "How many entries of `out` does one `b[o]` affect?",
            "It affects all positions of its channel, in every example.",
            "Sum `out.g` over two axes; only `(o,)` remains.",
        ),
    },
)

conv2d_grad = Exercise(
    title="A convolution with stride and padding, backwards",
    forward=_conv2d,
    inputs={
        "inp": sized(normal("bs c h w_in"), bs=(2, 3), c=_FEW, h=(5, 6, 7), w_in=(6, 7, 8)),
        "w": sized(normal("o c kh kw"), o=(3, 4, 5), kh=(2, 3), kw=_SHORT),
        "b": normal("o"),
        "out": output(),
        "stride": each_of(2, 1, 2, 1),
        "padding": each_of(1, 0, 0, 2),
    },
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "Solve `conv1d_grad` first. How do `stride` and `padding` change which entries are multiplied?",
            "Take `inp` with its border of zeros. For `out[i, j]`, a tap multiplies row `i` times `stride` plus its "
            "own row; columns likewise.",
            "Start from zeros of the padded size. Add each contribution at every `stride`-th row and column; remove "
            "the border at the end.",
        ),
        "w.g": (
            "By which entries of the padded input is one tap multiplied? Also by those of the border?",
            "It is multiplied by every `stride`-th entry, beginning at the row and column of the tap, as many as"
            " `out` has.",
            "Pad `inp` as the forward pass does; compute one product for each tap, summed over examples, rows and "
            "columns.",
        ),
        "b.g": (
            "Do `stride` and `padding` affect the gradient of `b` at all?",
            "One `b[o]` is added at every position of its channel, in every example.",
            "Sum `out.g` over three axes; only `(o,)` remains.",
        ),
    },
)

depthwise_conv1d_grad = Exercise(
    title="A depthwise convolution, backwards",
    forward=_depthwise_conv1d,
    inputs={
        "inp": sized(normal("bs c l"), bs=_FEW, c=(3, 4, 5, 6), l=_LONG),
        "w": sized(normal("c k"), k=_SHORT),
        "out": output(),
    },
    answers=stored("inp.g", "w.g"),
    hints={
        "inp.g": (
            "Does channel 0 of `inp` affect channel 1 of `out`?",
            "Each channel is a separate convolution: one tap at a time, as in `conv1d_grad`, with no sum over "
            "channels.",
            "For each tap `j`: `out.g` times `w[:, j]`, with an axis for the positions, is added beginning at "
            "position `j`.",
        ),
        "w.g": (
            "At how many positions, in how many examples, is the tap `w[c, j]` used?",
            "At position `i` it is multiplied by `inp[b, c, i + j]`. Is anything summed over the channels here?",
            "For each tap: `out.g` times a slice of `inp` of the same length, summed over examples and positions; "
            "`(c,)` remains.",
        ),
    },
)

maxpool1d_grad = Exercise(
    title="Max pooling, backwards",
    forward=lambda inp, size, step: inp.unfold(-1, size, step).max(-1).values,
    inputs={
        "inp": sized(spaced("bs c l"), bs=_FEW, l=(7, 8, 9, 10)),
        "out": output(),
        "size": each_of(3, 2, 4, 3),
        "step": each_of(1, 2, 2, 3),
    },
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "In each window one entry is the largest. What gradient do the others get from that window?",
            "An entry may be the largest in several windows. How are the gradients of all of them combined?",
            "Find the index of each maximum in `inp`: the start of its window plus its index in the window. Add at "
            "that place, do not assign.",
        ),
    },
)

avgpool2d_grad = Exercise(
    title="Average pooling, backwards",
    forward=_avgpool2d,
    inputs={
        "inp": sized(normal("bs c h w"), bs=_FEW, c=_FEW, h=(5, 6, 7), w=(6, 7, 8, 9)),
        "out": output(),
        "size": each_of(2, 3, 2),
    },
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge one entry of a window by 0.001. By how much does the average of the window change?",
            "All entries of a window get the same gradient. And those at the end that are in no window?",
            "Repeat each entry of `out.g` `size` times along both axes, divide by the number of entries of a window, "
            "and keep zeros elsewhere.",
        ),
    },
)
