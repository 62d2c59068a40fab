"""Measures weights on samples that training has not seen, by kind of object.

    python evaluate.py RUN/weights.pt FOLDER --shard 0

depth: mean distance of the front from the truth, in half widths of the frame. iou: intersection over union of the
columns. look: mean error of the elevation in degrees. For real objects, see `npm run bench quality`.
"""

import argparse
import math
from pathlib import Path

import torch

from dataset import Shards, targets
from export import load
from photograph import HALF_DEPTH


def scores(
    net: torch.nn.Module, steps: int, photos: torch.Tensor, crossings: torch.Tensor, elevations: torch.Tensor
) -> dict[str, torch.Tensor]:
    """depth, iou and look of each sample."""
    image = torch.cat([photos[:, :3] * photos[:, 3:] + 0.5 * (1 - photos[:, 3:]), photos[:, 3:]], 1)
    with torch.no_grad():
        depth, logits, _, elevation = net(image)
    front, there, full = targets(crossings, steps)
    a, b = (logits > 0) & (there[:, None] > 0), full > 0.5
    return {
        "depth": HALF_DEPTH * ((depth - front).abs() * there).sum((1, 2)) / there.sum((1, 2)).clamp(min=1),
        "iou": (a & b).sum((1, 2, 3)) / (a | b).sum((1, 2, 3)).clamp(min=1),
        "look": (elevation - elevations).abs() * 180 / math.pi,
    }


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("weights")
    options.add_argument("data")
    options.add_argument("--shard", type=int, default=0)
    chosen = options.parse_args()
    torch.set_num_threads(1)
    net, preset, step = load(chosen.weights)
    name = f"{chosen.shard:05d}"
    data = Shards(chosen.data, only=name)
    kinds = (Path(chosen.data) / name / "names.txt").read_text().split()
    table = {}
    for start in range(0, len(data) - 9, 10):
        photos, crossings, _, elevations = data.take(range(start, start + 10))
        for key, values in scores(net, preset.steps, photos, crossings, elevations).items():
            for kind, value in zip(kinds[start : start + 10], values.tolist()):
                table.setdefault(kind, {}).setdefault(key, []).append(value)
                table.setdefault("all", {}).setdefault(key, []).append(value)
    print(f"step {step}")
    for kind in sorted(table):
        means = {key: sum(values) / len(values) for key, values in table[kind].items()}
        print(
            f"{kind:12} {len(table[kind]['iou']):4}  " + "  ".join(f"{key} {value:.3f}" for key, value in means.items())
        )
