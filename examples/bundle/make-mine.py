"""Publishes a PyTorch encoder and decoder as a gen3d bundle: ONNX graphs and one safetensors file with their weights.

    pip install torch onnx onnxscript safetensors
    python3 make-mine.py mine && gen3d models use ./mine

docs/bundles.md explains each step.
"""

import hashlib
import json
import sys
from pathlib import Path

import onnx
import torch
import torch.nn.functional as F
from onnx.external_data_helper import set_external_data
from safetensors.torch import save_file
from torch import Tensor, nn

IMAGE, PLANE, CHANNELS = 128, 64, 4
WEIGHTS = "model.safetensors"


# --- your model: replace everything from here to the next line ------------------------------------------------------


class Encoder(nn.Module):
    """Untrained: it puts the photo's silhouette on the plane that faces the camera and gets thinner toward the rim."""

    def forward(self, image: Tensor) -> Tensor:
        """image [1, 4, S, S]: RGB and matte in 0..1 -> scene_codes [1, 3, C, H, W]"""
        small = F.avg_pool2d(image, IMAGE // PLANE)
        # Row 0 of an image is its top; row 0 of a plane is where its second axis is most negative.
        rgb, matte = small.flip(2).split((3, 1), dim=1)
        blurred = F.avg_pool2d(matte, 9, stride=1, padding=4)
        silhouette = torch.cat((blurred, rgb), dim=1)
        empty = torch.zeros_like(silhouette)
        depth = torch.linspace(-1, 1, PLANE).square().reshape(1, 1, PLANE, 1).expand(1, 1, PLANE, PLANE)
        across = torch.cat((depth, empty[:, 1:]), dim=1)
        return torch.stack((silhouette, across, empty), dim=1)


class Decoder(nn.Module):
    """One linear layer whose weights stand in for training: density = silhouette - 4 depth² - 0.5."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3 * CHANNELS, 4)
        with torch.no_grad():
            self.head.weight.zero_()
            self.head.weight[:, :CHANNELS] = torch.eye(CHANNELS)
            self.head.weight[0, CHANNELS] = -4
            self.head.bias.copy_(torch.tensor([-0.5, 0, 0, 0]))

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """features [N, 3C], plane after plane -> density [N, 1], color [N, 3] in 0..1"""
        density, color = self.head(features).split((1, 3), dim=1)
        return density, color


# --- the bundle -----------------------------------------------------------------------------------------------------


def export(folder: Path, encoder: nn.Module, decoder: nn.Module) -> None:
    """Writes both graphs. PyTorch names their weights as the state dicts do."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        encoder.eval(),
        (torch.zeros(1, 4, IMAGE, IMAGE),),
        folder / "encoder.onnx",
        input_names=["image"],
        output_names=["scene_codes"],
        external_data=False,
        dynamo=True,
    )
    torch.onnx.export(
        decoder.eval(),
        (torch.zeros(8, 3 * CHANNELS),),
        folder / "decoder.onnx",
        input_names=["features"],
        output_names=["density", "color"],
        dynamic_shapes=({0: torch.export.Dim("N")},),
        external_data=False,
        dynamo=True,
    )


def move_weights_out(graph: Path, tensors: dict) -> None:
    """Makes a skeleton of a graph: each initializer that the safetensors file holds refers to its bytes there."""
    model = onnx.load(graph)
    for initializer in model.graph.initializer:
        if tensor := tensors.get(initializer.name):
            start, end = tensor["data_offsets"]
            initializer.ClearField("float_data")
            initializer.raw_data = b""  # set_external_data requires the field
            set_external_data(initializer, WEIGHTS, offset=start, length=end - start)
            initializer.ClearField("raw_data")
    onnx.save(model, graph)


def index_of(weights: Path) -> dict:
    """The tensors of a safetensors file with their offsets from its beginning: https://huggingface.co/docs/safetensors"""
    with weights.open("rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(header_size))
    header.pop("__metadata__", None)
    for tensor in header.values():
        tensor["data_offsets"] = [8 + header_size + offset for offset in tensor["data_offsets"]]
    return header


def manifest(folder: Path) -> dict:
    """The manifest of the bundle."""
    files = [folder / "encoder.onnx", folder / "decoder.onnx", folder / WEIGHTS]
    mine = {"license": "MIT", "source": "https://example.com/mine"}
    return {
        "formatVersion": 1,
        "kind": "reconstruction",
        "name": folder.resolve().name,
        "title": "Mine",
        "description": "A cushion in the shape of the silhouette.",
        "license": {
            "code": mine,
            "weights": mine,
            "trainingData": {"license": "none: it was not trained", "source": "-"},
        },
        "graph": "encoder.onnx",
        "files": [
            {"name": file.name, "size": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
            for file in files
        ],
        "input": {
            "tensor": "image",
            "size": IMAGE,
            "channels": 4,
            "mean": [0, 0, 0],
            "std": [255, 255, 255],
            "background": 0.5,
            "foregroundRatio": 0.85,
        },
        "decoder": {
            "kind": "planes",
            "graph": "decoder.onnx",
            "sceneCodes": "scene_codes",
            "features": "features",
            "planeChannels": CHANNELS,
            "planeSize": PLANE,
            "density": "density",
            "color": "color",
            "halfExtent": 0.6,
            "up": "+y",
            "front": "+z",
        },
        "threshold": 0,
        "camera": {"fovDegrees": 40, "distance": 1.65},
    }


if __name__ == "__main__":
    out = Path(sys.argv[1])
    encoder, decoder = Encoder(), Decoder()
    export(out, encoder, decoder)
    save_file({**encoder.state_dict(), **decoder.state_dict()}, out / WEIGHTS)
    for name in ("encoder.onnx", "decoder.onnx"):
        move_weights_out(out / name, index_of(out / WEIGHTS))
    (out / "manifest.json").write_text(json.dumps(manifest(out), indent=2))
