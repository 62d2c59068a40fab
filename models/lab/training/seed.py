"""Makes the initial weights of a `cpu` run from an earlier, smaller network: 64x64 pixels, 76 minutes of training on
one core.

    python seed.py RUN

`seed.pt` contains those weights (our own, trained on procedural objects only). The trunk is the same. The earlier
network's box was 1.2 half widths deep and its steps began at the front, so the rows of the head are resampled.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from model import build
from photograph import HALF_DEPTH
from presets import PRESETS, Preset

TINY_HALF_DEPTH, TINY_STEPS = 1.2, 64
NAMES = {
    "stem": "stem",
    "d0": "level0",
    "d1": "level1",
    "d2": "level2",
    "d3": "level3",
    "m": "middle",
    "a2": "look_around",
    "u2": "up2",
    "u1": "up1",
    "u0": "up0",
    "out": "head",
    "n1": "norm1",
    "c1": "conv1",
    "n2": "norm2",
    "c2": "conv2",
    "sk": "around",
    "n": "norm",
    "q": "project",
    "o": "out",
}


def current_name(name: str) -> str:
    """The name that a weight of the earlier network has in this one."""
    first, *rest = name.split(".")
    return ".".join([NAMES[first], *(NAMES.get(word, word) for word in rest)])


def resample_head(values: np.ndarray, steps: int) -> np.ndarray:
    """Resamples the head's rows to another depth of the box and number of steps.

    values [4*(1+64), ...]: the depth and occupancy rows of four pixels, channel first as pixel_shuffle takes them.
    """
    rows = values.reshape(1 + TINY_STEPS, 4, *values.shape[1:])
    depth = rows[:1] * (TINY_HALF_DEPTH / HALF_DEPTH)
    at = np.clip(np.arange(steps) * (HALF_DEPTH / TINY_HALF_DEPTH) * TINY_STEPS / steps - 0.5, 0, TINY_STEPS - 1)
    low = np.minimum(at.astype(int), TINY_STEPS - 2)
    part = (at - low).reshape(-1, *[1] * (rows.ndim - 1))
    occupancy = rows[1:][low] * (1 - part) + rows[1:][low + 1] * part
    return np.concatenate([depth, occupancy]).reshape(4 * (1 + steps), *values.shape[1:]).astype(np.float32)


def initial_weights(weights: Path, preset: Preset) -> dict[str, torch.Tensor]:
    """The state of a network that continues from the earlier one."""
    state = build(preset).state_dict()
    for old, values in torch.load(weights, map_location="cpu").items():
        name, values = current_name(old), values.float().numpy()
        state[name] = torch.from_numpy(resample_head(values, preset.steps) if name.startswith("head") else values)
    return state


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run", type=Path)
    run = options.parse_args().run
    torch.manual_seed(0)
    run.mkdir(parents=True, exist_ok=True)
    torch.save(
        {"average": initial_weights(Path(__file__).with_name("seed.pt"), PRESETS["cpu"]), "step": 0, "preset": "cpu"},
        run / "weights.pt",
    )
