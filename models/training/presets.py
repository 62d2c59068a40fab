"""What a training run is made of. `cpu` is for two cores and hours, `gpu` for one GPU and half an hour or more."""

from dataclasses import dataclass

from photograph import Sizes


@dataclass(frozen=True)
class Preset:
    sizes: Sizes
    steps: int  # behind the front, over the whole depth of the box
    widths: tuple  # channels at 1/4, 1/8 and 1/16 of the photo's side (`cpu`: 32, 16, 8 pixels)
    depths: tuple  # blocks at each
    batch: int
    peak_rate: float


PRESETS = {
    "cpu": Preset(sizes=Sizes(photo=128, columns=64, planes=96), steps=64, widths=(64, 160, 256), depths=(1, 2, 3), batch=12, peak_rate=8e-4),
    "gpu": Preset(sizes=Sizes(photo=256, columns=128, planes=160), steps=96, widths=(128, 256, 512), depths=(2, 4, 6), batch=64, peak_rate=5e-4),
}
