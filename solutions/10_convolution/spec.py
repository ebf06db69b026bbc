"""Exercises of unit 10: convolution and pooling, in which one weight serves many places."""

from handgrad import Exercise, each_of, normal, output, sized, spaced, stored

_FEW, _SOME, _SHORT, _LONG = (2, 3, 4), (2, 3, 4, 5), (2, 3, 4), (7, 8, 9)


def _conv1d(inp, w, b):
    """out[:, o, i] = the sum over c and k of inp[:, c, i + k] * w[o, c, k], plus b[o]"""
    import torch

    return torch.nn.functional.conv1d(inp, w, b)


def _conv2d(inp, w, b, stride, padding):
    """out = torch.nn.functional.conv2d(inp, w, b, stride, padding)"""
    import torch

    return torch.nn.functional.conv2d(inp, w, b, stride, padding)


def _depthwise_conv1d(inp, w):
    """out[:, c, i] = the sum over k of inp[:, c, i + k] * w[c, k]"""
    import torch

    return torch.nn.functional.conv1d(inp, w.unsqueeze(1), groups=len(w))


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
            "Into how many windows was the third entry of a row copied? And the first?",
            "Each copy sends its own gradient back, to one and the same entry. Copies add.",
            "Zeros in the shape of inp; window i begins at i times step; add each window's gradients where it lay.",
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
            "Which places of out does inp[0, 0, 3] touch, and through which tap of the kernel each of them?",
            "Place 3 met tap 0 on its way to place 3 of out, tap 1 on its way to place 2. Follow one tap at a time.",
            "For each tap k: out.g mixed through w[:, :, k], added into inp.g beginning at place k.",
        ),
        "w.g": (
            "One tap w[o, c, k] is used at every place of every example. What was it multiplied by at each of them?",
            "At place i of out its partner was inp[b, c, i + k]: the input, moved by k.",
            "For each tap: a product of out.g with as long a stretch of inp, summed over examples and places.",
        ),
        "b.g": (
            "How many entries of out does one b[o] reach?",
            "All the places of its channel, in every example.",
            "Two axes of out.g disappear; only (o,) remains.",
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
            "Solve it for conv1d_grad first. What do stride and padding change about which entries meet?",
            "Imagine inp with its border of zeros. out[i, j] met the entry i times stride plus the tap's row.",
            "Add into zeros of the padded size, every stride-th row and column; cut the border off at the end.",
        ),
        "w.g": (
            "Which entries of the padded input does one tap meet? Those with zeros, too?",
            "Beginning at the tap's own row and column, every stride-th one, as many as out has.",
            "Pad inp as the forward pass did; one product for each tap, summed over examples and both axes of places.",
        ),
        "b.g": (
            "Do stride or padding matter to b at all?",
            "One b[o] reaches every place of its channel, in every example.",
            "Three axes of out.g disappear.",
        ),
    },
)

depthwise_conv1d_grad = Exercise(
    title="Convolution by channels, backwards",
    forward=_depthwise_conv1d,
    inputs={
        "inp": sized(normal("bs c l"), bs=_FEW, c=(3, 4, 5, 6), l=_LONG),
        "w": sized(normal("c k"), k=_SHORT),
        "out": output(),
    },
    answers=stored("inp.g", "w.g"),
    hints={
        "inp.g": (
            "Does channel 0 of inp reach channel 1 of out?",
            "Each channel is a convolution of its own: one tap at a time, as in conv1d_grad, with nothing to mix.",
            "For each tap k: out.g times w[:, k], with an axis for the places, added beginning at place k.",
        ),
        "w.g": (
            "How many places, in how many examples, used the tap w[c, k]?",
            "Its partner at place i was inp[b, c, i + k]. Is anything summed over the channels here?",
            "For each tap: out.g times as long a stretch of inp, summed over examples and places; (c,) remains.",
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
            "In each window one entry wins. What do the others get from that window?",
            "An entry may win in several windows. What becomes of the gradients of all of them?",
            "Find where in inp each window's winner lies: the window's start plus its place. Add there, do not assign.",
        ),
    },
)

avgpool2d_grad = Exercise(
    title="Average pooling, backwards",
    forward=lambda inp, size: inp.unfold(2, size, size).unfold(3, size, size).mean((-2, -1)),
    inputs={
        "inp": sized(normal("bs c h w"), bs=_FEW, c=_FEW, h=(5, 6, 7), w=(6, 7, 8, 9)),
        "out": output(),
        "size": each_of(2, 3, 2),
    },
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge one entry of a window by 0.001. By how much does the window's average move?",
            "All entries of a window hear the same. And those at the end that no window reached?",
            "Repeat each entry of out.g size times along both axes, share it out, and leave zeros where nothing lay.",
        ),
    },
)
