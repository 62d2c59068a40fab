"""Writes PyTorch's outputs for 20 photos. A test of the engine compares them with those of onnxruntime-node.

    python parity.py RUN/weights.pt ../../../packages/engine/src/bundle/parity.fixture

Writes 20 small PNGs with straight alpha, and answers.json: for each photo, values of every output at random indices.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from export import Exported, load
from photograph import photograph

PHOTOS, VALUES = 20, 50
OUTPUTS = ("front_depth", "occupancy", "back_color", "elevation")

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("weights")
    options.add_argument("folder", type=Path)
    chosen = options.parse_args()
    weights, folder = chosen.weights, chosen.folder
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    net, preset, step = load(weights)
    rng = np.random.default_rng(20261121)
    photos = []
    for number in range(PHOTOS):
        pixels = photograph(rng, preset.sizes)[0]
        Image.fromarray(pixels.transpose(1, 2, 0), "RGBA").save(folder / f"{number:02d}.png", optimize=True)
        photo = torch.from_numpy(pixels).float()[None] / 255
        image = torch.cat([photo[:, :3] * photo[:, 3:] + 0.5 * (1 - photo[:, 3:]), photo[:, 3:]], 1)
        with torch.no_grad():
            outputs = Exported(net)(image)
        samples = {}
        for name, values in zip(OUTPUTS, outputs):
            at = rng.integers(values.numel(), size=min(VALUES, values.numel()))
            samples[name] = {"at": at.tolist(), "values": [round(float(v), 5) for v in values.flatten()[at]]}
        photos.append(samples)
    (folder / "answers.json").write_text(json.dumps({"step": step, "photos": photos}) + "\n")
