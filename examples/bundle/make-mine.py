"""From a PyTorch encoder and decoder to a gen3d bundle. docs/bundles.md goes through it.

    pip install torch onnx onnxscript
    python3 make-mine.py mine && gen3d models use ./mine
"""

import hashlib
import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

IMAGE, PLANE, CHANNELS = 128, 64, 4


# --- your model: everything from here to the next line is what you have already -------------------------------------


class Encoder(nn.Module):
    """Untrained, but it makes something: the photo's silhouette in the plane that faces the camera, thinner at the rim."""

    def forward(self, image: Tensor) -> Tensor:
        """image [1, 4, S, S]: RGB and matte in 0..1 -> scene_codes [1, 3, C, H, W]"""
        small = F.avg_pool2d(image, IMAGE // PLANE)
        # Row 0 of a picture is its top; row 0 of a plane is where its second axis is most negative.
        rgb, matte = small.flip(2).split((3, 1), dim=1)
        blurred = F.avg_pool2d(matte, 9, stride=1, padding=4)
        silhouette = torch.cat((blurred, rgb), dim=1)
        nothing = torch.zeros_like(silhouette)
        depth = torch.linspace(-1, 1, PLANE).square().reshape(1, 1, PLANE, 1).expand(1, 1, PLANE, PLANE)
        across = torch.cat((depth, nothing[:, 1:]), dim=1)
        return torch.stack((silhouette, across, nothing), dim=1)


class Decoder(nn.Module):
    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """features [N, 3C], plane after plane -> density [N, 1], color [N, 3] in 0..1"""
        xy, xz, _yz = features.split(CHANNELS, dim=1)
        density = xy[:, :1] - 0.5 - 4 * xz[:, :1]
        return density, xy[:, 1:]


# --- the bundle -----------------------------------------------------------------------------------------------------


def export(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        Encoder().eval(),
        (torch.zeros(1, 4, IMAGE, IMAGE),),
        folder / "encoder.onnx",
        input_names=["image"],
        output_names=["scene_codes"],
        external_data=False,
        dynamo=True,
    )
    torch.onnx.export(
        Decoder().eval(),
        (torch.zeros(8, 3 * CHANNELS),),
        folder / "decoder.onnx",
        input_names=["features"],
        output_names=["density", "color"],
        dynamic_shapes=({0: torch.export.Dim("N")},),
        external_data=False,
        dynamo=True,
    )


def manifest(folder: Path) -> dict:
    files = [folder / "encoder.onnx", folder / "decoder.onnx"]
    mine = {"licence": "MIT", "source": "https://example.com/mine"}
    return {
        "formatVersion": 1,
        "kind": "reconstruction",
        "name": folder.resolve().name,
        "title": "Mine",
        "description": "A cushion in the shape of the silhouette.",
        "licence": {"code": mine, "weights": mine, "trainingData": {"licence": "none: nothing was learned", "source": "-"}},
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
    export(out)
    (out / "manifest.json").write_text(json.dumps(manifest(out), indent=2))
