"""Writes a bundle: the network as ONNX with half-precision weights, and its manifest.

python export.py RUN/weights.pt ../../gen3d-base --name gen3d-base --title "gen3d base" --description "..."
"""

import argparse
import hashlib
import json
import math
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

from model import build
from photograph import HALF_DEPTH
from presets import PRESETS, Preset

# The camera that the product assumes. In the training photos, the frame around the object is 16 to 50 degrees wide,
# with a median of 30. On the validation set, 28 to 38 are about as good as the true width of each photo. The unit of
# length is arbitrary.
FOV_DEGREES, HALF_WIDTH = 32, 0.6
DISTANCE = round(HALF_WIDTH / math.tan(math.radians(FOV_DEGREES / 2)), 4)

# Added to the logit of the k-th of n steps behind the front: LEAN * k / n, at most MAX_LEAN. Where the photo does not
# show the depth, each single step is slightly more likely empty than full, and all of them would be missing: boxes seen
# from the front became slabs, and cups lost their far wall. Tuned on the validation set, never on the benchmark. The
# engine's `withExpectedVolume` is applied in addition.
LEAN, MAX_LEAN = 4, 1.5


class Exported(nn.Module):
    """The network with colors in 0 to 1, and with a bias for deep steps."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.register_buffer("lean", (LEAN * torch.arange(net.steps) / net.steps).clamp(max=MAX_LEAN)[:, None, None])

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The outputs of the bundle. image [B,4,S,S]"""
        front, occupancy, back, elevation = self.net(image)
        return front, occupancy + self.lean, back.sigmoid(), elevation


def load(weights: str | Path) -> tuple[nn.Module, Preset, int]:
    """The network with averaged weights, its preset, and the number of training steps."""
    state = torch.load(weights, map_location="cpu")
    preset = PRESETS[state["preset"]]
    net = build(preset)
    net.load_state_dict({key: value.float() for key, value in state["average"].items()})
    return net.eval(), preset, state["step"]


def halve_weights(model: onnx.ModelProto, least: int = 1024) -> onnx.ModelProto:
    """Stores large weights as float16 before a Cast, which onnxruntime folds when it loads the graph.

    This halves the file and keeps the arithmetic.
    """
    graph = model.graph
    casts = []
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.size < least:
            continue
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{name}_half"))
        casts.append(
            onnx.helper.make_node("Cast", [f"{name}_half"], [name], to=onnx.TensorProto.FLOAT, name=f"{name}_float")
        )
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend(casts + rest)
    return model


# The manifest's `trainingData`. NOTICE.md names the sources of the meshes.
SHAPES = "MIT: made by our own program, no outside pictures or shapes"
MESHES = "our own shapes (MIT), and meshes under CC0, MIT-0 and CC BY by the authors in NOTICE.md"


def export(
    weights: str | Path, folder: str | Path, name: str, title: str, description: str, data: str = SHAPES
) -> None:
    """Writes encoder.onnx and manifest.json."""
    net, preset, step = load(weights)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    size = preset.sizes.photo
    path = folder / "encoder.onnx"
    torch.onnx.export(
        Exported(net).eval(),
        (torch.rand(1, 4, size, size),),
        path,
        dynamo=False,
        opset_version=17,
        input_names=["image"],
        output_names=["front_depth", "occupancy", "back_color", "elevation"],
    )
    model = halve_weights(onnx.load(path))
    # For shipped.py, which reads the weights back.
    onnx.helper.set_model_props(model, {"preset": preset.name, "step": str(step)})
    onnx.save(model, path)
    own = {"licence": "MIT", "source": "models/lab/training"}
    manifest = {
        "formatVersion": 1,
        "kind": "reconstruction",
        "name": name,
        "title": title,
        "description": description,
        "licence": {
            "code": own,
            "weights": {"licence": "MIT", "source": f"models/{name}"},
            "trainingData": {"licence": data, "source": "models/lab/training"},
        },
        "graph": "encoder.onnx",
        "files": [
            {
                "name": "encoder.onnx",
                "size": path.stat().st_size,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
        ],
        "input": {
            "tensor": "image",
            "size": size,
            "channels": 4,
            "mean": [0, 0, 0],
            "std": [255, 255, 255],
            "background": 0.5,
            "foregroundRatio": 0.86,
        },
        "decoder": {
            "kind": "columns",
            "frontDepth": "front_depth",
            "occupancy": "occupancy",
            "color": "back_color",
            "size": preset.sizes.columns,
            "steps": preset.steps,
            "halfWidth": HALF_WIDTH,
            "halfDepth": HALF_DEPTH,
        },
        "elevation": "elevation",
        "threshold": 0,
        "camera": {"fovDegrees": FOV_DEGREES, "distance": DISTANCE},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, step {step}, frame {FOV_DEGREES} degrees wide")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("weights")
    options.add_argument("folder")
    options.add_argument("--name", default="gen3d-base")
    options.add_argument("--title", default="gen3d base")
    options.add_argument("--description", required=True)
    options.add_argument("--meshes", action="store_true", help="the training data included meshes")
    chosen = options.parse_args()
    export(
        chosen.weights,
        chosen.folder,
        chosen.name,
        chosen.title,
        chosen.description,
        MESHES if chosen.meshes else SHAPES,
    )
