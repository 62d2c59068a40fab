"""The sizes of a training run.

`cpu` is for two cores and hours, `gpu` for one GPU and half an hour or more, `tiny` for tests.
"""

from dataclasses import dataclass

from photograph import Sizes


@dataclass(frozen=True)
class Preset:
    """Sizes of the samples, of the network and of a batch, and the peak learning rate."""

    name: str
    sizes: Sizes
    steps: int  # behind the front, over the whole depth of the box
    width: int  # channels of the trunk's first level; the others have 2, 3 and 4 times as many
    fine: int  # channels of the branch at the photo's full size
    layers: int  # of the transformer, at an eighth of the columns' resolution
    layer_width: int  # channels of these layers
    patch: int  # side of the squares of pixels that are their tokens
    batch: int
    peak_rate: float


PRESETS = {
    "cpu": Preset(
        name="cpu",
        sizes=Sizes(photo=128, columns=64, planes=96),
        steps=64,
        width=48,
        fine=24,
        layers=10,
        layer_width=256,
        patch=1,
        batch=24,
        peak_rate=6e-4,
    ),
    # As wide as `cpu`, whose weights grow into it (grow.py), with more of the layers that start without effect: 35 MB,
    # and 35 to 40 ms for a photo on two cores.
    "gpu": Preset(
        name="gpu",
        sizes=Sizes(photo=256, columns=128, planes=160),
        steps=96,
        width=48,
        fine=24,
        layers=16,
        layer_width=256,
        patch=2,
        batch=128,
        peak_rate=1e-3,
    ),
    "tiny": Preset(
        name="tiny",
        sizes=Sizes(photo=64, columns=32, planes=48),
        steps=16,
        width=16,
        fine=8,
        layers=2,
        layer_width=32,
        patch=2,
        batch=4,
        peak_rate=1e-3,
    ),
}
