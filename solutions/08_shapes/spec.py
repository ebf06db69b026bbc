"""Exercises of unit 08: what sums, copies, moves or picks entries, backwards."""

from handgrad import (
    Exercise,
    Misconception,
    each_of,
    indices,
    mask,
    normal,
    output,
    returned,
    shape,
    sized,
    spaced,
    stored,
    upstream,
    withheld,
)

# Each axis, counted from either end, with and without the flag that stands beside it.
_DIMS = each_of(1, -1, 0, 0, -1)
# Partners that broadcast: every trial stretches, adds or keeps other axes, on either side.
_A = "bs 1 m | bs n m | m | n 1 | bs n | 1 n 1"
_B = "n 1 | m | bs n m | bs 1 m | bs n | bs 1 m"
_NARROW = "n 1 | m | bs 1 m | 1 m | bs n m | 1 n 1"
_WIDE = "bs n m | bs n m | bs n m | n m | bs n m | bs n m"


def _variance(inp, dim, unbiased):
    """out = ((inp - inp.mean(dim, keepdim=True)) ** 2).sum(dim) / (n - unbiased)"""
    deviation = inp - inp.mean(dim, keepdim=True)
    return (deviation**2).sum(dim) / (inp.shape[dim] - unbiased)


def _joined(a, b, dim):
    """out = torch.cat((a, b), dim)"""
    import torch

    return torch.cat((a, b), dim)


def _stacked(a, b, dim):
    """out = torch.stack((a, b), dim)"""
    import torch

    return torch.stack((a, b), dim)


def _padded(inp, before, after):
    """out = torch.nn.functional.pad(inp, (before, after))"""
    import torch

    return torch.nn.functional.pad(inp, (before, after))


sum_grad = Exercise(
    title="A sum along an axis, backwards",
    forward=lambda inp, dim, keepdim: inp.sum(dim, keepdim),
    inputs={"inp": normal("bs n m"), "out": output(), "dim": _DIMS, "keepdim": each_of(False, True)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge one entry of inp by 0.001. Which entry of out moves, and by how much?",
            "All the entries that were added up into one sum hear the same thing from it. How many times is it said?",
            "Where keepdim is False, out lacks the axis: put one of size 1 back in its place before you copy.",
        ),
    },
)

mean_grad = Exercise(
    title="A mean along an axis, backwards",
    forward=lambda inp, dim, keepdim: inp.mean(dim, keepdim),
    inputs={"inp": normal("bs n m"), "out": output(), "dim": _DIMS, "keepdim": each_of(False, True)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "A mean is a sum and one more step. Which step, and what is its factor?",
            "How many entries share one mean: all of inp, or those along one axis?",
            "Do what you did for the sum; the share of each entry comes from the size of inp along dim.",
        ),
    },
)

unbroadcast = Exercise(
    title="Undo a broadcast",
    forward=lambda x, wide: x.expand(wide),
    inputs={
        "g": upstream(),
        "shape": shape(_NARROW),
        "x": withheld(normal(_NARROW)),
        "wide": withheld(shape(_WIDE)),
    },
    answers=returned("x"),
    hints={
        "return": (
            "One entry of x was copied to several places. What becomes of what they send back?",
            "Line up the two shapes from the right. Which axes are new, and which had the size 1?",
            "New axes are summed until none is left in front; axes of size 1 are summed too, but have to stay.",
        ),
    },
)

add_grad = Exercise(
    title="A sum of two tensors that broadcast, backwards",
    forward=lambda a, b: a + b,
    inputs={"a": normal(_A), "b": normal(_B), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Had a and out the same shape, what would the gradient be? And what is different here?",
            "Broadcasting put copies of a into out. Each copy sends a gradient back to one and the same entry.",
            "Bring what arrives down to the shape of a: you wrote the function for it in unbroadcast.",
        ),
        "b.g": (
            "Does b get anything else than a does, before you look at the shapes?",
            "Line up the shapes of b and out from the right: where was b copied?",
            "What differs is only the shape that you bring it down to: that of b.",
        ),
    },
)

mul_grad = Exercise(
    title="A product of two tensors that broadcast, backwards",
    forward=lambda a, b: a * b,
    inputs={"a": normal(_A), "b": normal(_B), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "At what rate does a product grow with its left factor?",
            "Two steps: multiply at the full shape of out, and then come down to the shape of a.",
            "Every copy of a met another entry of its partner, so multiply first and add the copies afterwards.",
        ),
        "b.g": (
            "At what rate does a product grow with its right factor?",
            "Two steps: multiply at the full shape of out, and then come down to the shape of b.",
            "The same as for the other one, with the two exchanged: partner, and shape to come down to.",
        ),
    },
)

permute_grad = Exercise(
    title="Axes in another order, backwards",
    forward=lambda inp, order: inp.permute(order),
    inputs={"inp": normal("bs n m"), "out": output(), "order": each_of((1, 2, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2))},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "No number was changed, each only got another address. Where does the entry of a nudge end up?",
            "Axis i of out is axis order[i] of inp. So where is axis j of inp to be found in out?",
            "Look for 0, 1 and 2 in order, one after the other: their places are the order that leads back.",
        ),
    },
)

reshape_grad = Exercise(
    title="The same numbers in other rows, backwards",
    forward=lambda inp: inp.reshape(inp.shape[-1], -1),
    inputs={"inp": normal("bs n m"), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Number the entries of inp in the order in which they lie in memory. What is their order in out?",
            "No entry moved; only the lines were drawn elsewhere. Is that a transpose?",
            "Draw the lines of out.g where inp has them.",
        ),
    },
)

index_grad = Exercise(
    title="Picking rows, backwards",
    forward=lambda inp, idx: inp[idx],
    inputs={"inp": normal("n m"), "out": output(), "idx": indices("k", "n")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "A row of inp may be picked once, three times, or never. What is its gradient in each case?",
            "Start from zeros in the shape of inp, and bring each row of what arrives to the row it was taken from.",
            "Bring it by adding, and mind that an assignment through repeated indices keeps one row only.",
        ),
    },
)

slice_grad = Exercise(
    title="A stretch of an axis, backwards",
    forward=lambda inp, start, stop: inp[:, start:stop],
    inputs={
        "inp": sized(normal("bs t m"), t=(5, 6, 7)),
        "out": output(),
        "start": each_of(1, 0, 2),
        "stop": each_of(4, 3, 5),
    },
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge an entry before start, one inside, and one behind stop. Which of them moves out?",
            "The gradient is as large as inp, and most of it may be nothing.",
            "Zeros in the shape of inp; the same slice tells where out.g belongs.",
        ),
    },
)

where_grad = Exercise(
    title="A choice between two, backwards",
    forward=lambda mask, a, b: a.where(mask.bool(), b),
    inputs={"mask": mask("..."), "a": normal("..."), "b": normal("..."), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Nudge an entry of a that was not chosen. What does out do?",
            "Who was chosen is told by mask; neither a nor b has anything to do with it.",
            "out.g where mask is 1, and nothing where it is 0.",
        ),
        "b.g": (
            "Where was b chosen?",
            "The entries that a does not get.",
            "out.g where mask is 0, and nothing where it is 1.",
        ),
    },
)

max_grad = Exercise(
    title="The largest along an axis, backwards",
    forward=lambda inp, dim: inp.max(dim).values,
    inputs={"inp": spaced("bs n m"), "out": output(), "dim": each_of(1, -1, 0)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge an entry that is not the largest of its group. What does out do?",
            "You need a mask that is open at one entry of each group. Which tensor tells you the largest?",
            "Give out its axis back, with size 1, and compare it with inp. Where two are equal, what must they sum to?",
        ),
    },
)

var_grad = Exercise(
    title="A variance along an axis, backwards",
    forward=_variance,
    inputs={"inp": normal("bs n m"), "out": output(), "dim": _DIMS, "unbiased": each_of(True, False)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Take the variance apart: mean, difference, square, sum, division. Which factor does each of them bring?",
            "Each entry also moves the mean a little. Add up what that does to all the squares: what comes out?",
            "The deviation, the factor of the square, and the divisor of the forward pass, which unbiased decides.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-factor",
            "inp.g",
            lambda inp, dim, unbiased, out_g: (
                2 * (inp - inp.mean(dim, keepdim=True)) / (inp.shape[dim] - (not unbiased)) * out_g.unsqueeze(dim)
            ),
            says="the two divisors have changed places: it is unbiased=True that takes one less",
            hints=("Which of the two is larger, the variance with unbiased=True or the other one?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, dim, unbiased, out, out_g: (
                (inp - inp.mean(dim, keepdim=True)) / (inp.shape[dim] - unbiased) * (out_g / out.sqrt()).unsqueeze(dim)
            ),
            says="every entry is the gradient of the standard deviation, not of the variance",
            hints=("Is there a square root in the forward pass?",),
        ),
    ),
)

cat_grad = Exercise(
    title="Two tensors joined, backwards",
    forward=_joined,
    # First an a that is shorter than b for certain: cutting by the length of a alone must not pass by luck.
    inputs={
        "a": normal("bs 1 m | bs n m | bs n m"),
        "b": normal("bs k m | bs n k | k n m"),
        "out": output(),
        "dim": each_of(1, -1, 0),
    },
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Nudge one entry of a. Which entry of out moves?",
            "Along dim, which places of out hold a, and how many are they?",
            "Cut along dim, and read from a how long its part is.",
        ),
        "b.g": (
            "Along dim, where does b begin?",
            "What comes before it has the length of a; how much is left?",
            "Cut along dim, behind the part of a. split and narrow take the lengths you have read.",
        ),
    },
)

stack_grad = Exercise(
    title="Two tensors stacked, backwards",
    forward=_stacked,
    inputs={"a": normal("bs n"), "b": normal("bs n"), "out": output(), "dim": each_of(1, 0, 2, -1)},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "out has an axis that a does not have. How long is it, and where does it stand?",
            "At which place of the new axis does a lie?",
            "Take out that one place along dim, so that the axis is gone again.",
        ),
        "b.g": (
            "At which place of the new axis does b lie?",
            "Behind a.",
            "The same as for a, one place on; select and unbind take one axis away.",
        ),
    },
)

pad_grad = Exercise(
    title="A border of zeros, backwards",
    forward=_padded,
    inputs={"inp": normal("bs n"), "out": output(), "before": each_of(1, 2, 0), "after": each_of(2, 0, 1)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "What becomes of the gradients that arrive at the zeros?",
            "Those entries of out depend on nobody. Where in out does inp begin, and how long is it?",
            "A slice of out.g; a border of 0 at the end must not cut everything away.",
        ),
    },
)

cumsum_grad = Exercise(
    title="A running sum, backwards",
    forward=lambda inp, dim: inp.cumsum(dim),
    inputs={"inp": normal("bs n m"), "out": output(), "dim": each_of(1, -1, 0)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge the first entry along dim: which outputs move? And the last one?",
            "An entry reaches its own output and all later ones. Which upstream gradients does it add up?",
            "It is a running sum once more, only it begins at the other end of the axis.",
        ),
    },
)
