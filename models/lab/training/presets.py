"""The sizes of a training run. `cpu` is for two cores and hours, `gpu` for one GPU and half an hour or more."""

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
        batch=24,
        peak_rate=6e-4,
    ),
    "gpu": Preset(
        name="gpu",
        sizes=Sizes(photo=256, columns=128, planes=160),
        steps=96,
        width=128,
        fine=48,
        layers=8,
        layer_width=512,
        batch=64,
        peak_rate=5e-4,
    ),
}
