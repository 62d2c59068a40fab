"""Writes the expected results of the small flow model in the engine's tests, computed with PyTorch.

    pip install torch==2.13.0 onnx==1.23.1 numpy
    python3 models/lab/exporters/triposg/reference.py packages/weights/src/skeleton/flow-model.fixture

Writes the skeleton as well. The weights come from a formula (random_weights.py), as in the tests.
"""

import argparse
import base64
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

from network import Autoencoder, Flow, ImageEncoder, sample
from random_weights import noise, weight
from sizes import SIZES, Size

STEPS = 8
GUIDANCE = 7.0
POINTS = 50


def with_formula(network: torch.nn.Module) -> torch.nn.Module:
    """Sets the weights of a network."""
    state = network.state_dict()
    network.load_state_dict({name: torch.from_numpy(weight(name, tuple(old.shape))) for name, old in state.items()})
    return network.eval()


def results(size: Size) -> dict[str, torch.Tensor]:
    """The values at each stage, from noise to the field."""
    image = torch.from_numpy(noise("image", 3 * size.image_size**2).astype(np.float32))
    start = torch.from_numpy(noise("latents", size.latent_tokens * size.latent_channels).astype(np.float32))
    points = torch.from_numpy(noise("points", 3 * POINTS).astype(np.float32))
    encoder, flow, autoencoder = (with_formula(kind(size)) for kind in (ImageEncoder, Flow, Autoencoder))
    tokens = encoder(image.reshape(1, 3, size.image_size, size.image_size))
    latents = sample(flow, start.reshape(1, size.latent_tokens, size.latent_channels), tokens, STEPS, GUIDANCE)
    density = autoencoder.density(autoencoder.decode(latents[-1]), points.reshape(1, POINTS, 3))
    return {"imageTokens": tokens, "latents": torch.cat(latents), "density": density}


@torch.no_grad()
def main() -> None:
    """Writes the skeleton and expected.json, whose values are float32 in base64."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="folder for the files")
    args = parser.parse_args()
    torch.set_num_threads(1)
    export = Path(__file__).parent / "export.py"
    subprocess.run([sys.executable, export, args.out, "--size", "tiny"], check=True)
    found = results(SIZES["tiny"])
    expected = {name: base64.b64encode(value.numpy().tobytes()).decode() for name, value in found.items()}
    text = json.dumps({"steps": STEPS, "guidance": GUIDANCE, "points": POINTS, **expected}, indent=2)
    (args.out / "expected.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
