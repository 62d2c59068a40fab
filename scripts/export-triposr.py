"""Makes a gen3d bundle of a TripoSR checkpoint: ONNX graphs and manifest.json, in any of four precisions.

    python3 -m venv venv && . venv/bin/activate
    pip install torch==2.13.0 onnx==1.23.1 onnxscript==0.7.2 numpy pyyaml
    python3 scripts/export-triposr.py model.ckpt ~/.local/share/gen3d/models/triposr
    gen3d models verify triposr && gen3d models use triposr

`model.ckpt` and the `config.yaml` beside it are the two files that the authors publish (MIT; see NOTICE.md, which this
writes too). Nothing else of theirs is needed: the network is written out below from its description, so neither their
code nor transformers, omegaconf, rembg or torchmcubes has to be installed, and no version of those can get in the way:

- transformers 5 calls the image encoder's weights by other names than 4.35, with which the checkpoint was made. Both are read.
- The position embeddings, trained for 14 x 14 patches, are stretched to the 32 x 32 of the photo; that interpolation
  cannot be traced. It does not depend on the photo, so it is done here. 4.35 stretched them by a factor of 32.1 / 14,
  later versions to 32 x 32, which shifts them by up to a twentieth of a patch: --position-embeddings says which.
- All that happens to the triplane's tokens before they first meet the photo is done here as well.
- Attention becomes one node, com.microsoft.MultiHeadAttention, which onnxruntime computes in tiles. Written out in
  products it needs 600 MB for its 16 x 3072 x 3072 weights and three times the time.

Precisions: fp32; fp16 (weights and computation in half precision, for GPUs: a CPU has to convert back and forth); int8
(weights only, one scale for each output of a layer; computation in fp32); int8-cpu (the products with these weights in
int8 as well, for CPUs). Inputs and outputs are fp32 in all of them.
"""

import argparse
import hashlib
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
import yaml
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

OPSET = 20
HEAD_CHANNELS = 64
GROUPS = 32
# What the checkpoint's own test cameras look like, and the density at which its authors cut the surface.
CAMERA = {"fovDegrees": 40, "distance": 1.9}
THRESHOLD = 25


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """[1, L, C] each, heads of 64 channels side by side."""
    heads = query.shape[-1] // HEAD_CHANNELS
    if torch.onnx.is_in_onnx_export():
        return torch.onnx.ops.symbolic(
            "com.microsoft::MultiHeadAttention",
            (query, key, value),
            {"num_heads": heads},
            dtype=query.dtype,
            shape=query.shape,
            version=1,
        )
    split = [x.unflatten(-1, (heads, HEAD_CHANNELS)).transpose(1, 2) for x in (query, key, value)]
    return F.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)


class VisionLayer(nn.Module):
    def __init__(self, channels: int, hidden: int):
        super().__init__()
        self.layernorm_before = nn.LayerNorm(channels, eps=1e-12)
        self.attention = nn.ModuleDict({f"{name}_proj": nn.Linear(channels, channels) for name in "qkvo"})
        self.layernorm_after = nn.LayerNorm(channels, eps=1e-12)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(channels, hidden), "fc2": nn.Linear(hidden, channels)})

    def forward(self, tokens: Tensor) -> Tensor:
        normed = self.layernorm_before(tokens)
        query, key, value = (self.attention[f"{name}_proj"](normed) for name in "qkv")
        tokens = tokens + self.attention["o_proj"](attention(query, key, value))
        return tokens + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.layernorm_after(tokens))))


class CrossAttention(nn.Module):
    def __init__(self, channels: int, context_channels: int):
        super().__init__()
        self.to_q = nn.Linear(channels, channels, bias=False)
        self.to_k = nn.Linear(context_channels, channels, bias=False)
        self.to_v = nn.Linear(context_channels, channels, bias=False)
        self.to_out = nn.ModuleList([nn.Linear(channels, channels)])

    def forward(self, tokens: Tensor, context: Tensor) -> Tensor:
        return self.to_out[0](attention(self.to_q(tokens), self.to_k(context), self.to_v(context)))


class GatedUnit(nn.Module):
    def __init__(self, channels: int, hidden: int):
        super().__init__()
        self.proj = nn.Linear(channels, 2 * hidden)

    def forward(self, tokens: Tensor) -> Tensor:
        value, gate = self.proj(tokens).chunk(2, dim=-1)
        return value * F.gelu(gate)


class TriplaneLayer(nn.Module):
    def __init__(self, channels: int, context_channels: int, hidden: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(channels)
        self.attn1 = CrossAttention(channels, channels)
        self.norm2 = nn.LayerNorm(channels)
        self.attn2 = CrossAttention(channels, context_channels)
        self.norm3 = nn.LayerNorm(channels)
        self.ff = nn.ModuleDict({"net": nn.ModuleDict({"0": GatedUnit(channels, hidden), "2": nn.Linear(hidden, channels)})})

    def look_at_itself(self, tokens: Tensor) -> Tensor:
        normed = self.norm1(tokens)
        return tokens + self.attn1(normed, normed)

    def look_at_photo(self, tokens: Tensor, photo: Tensor) -> Tensor:
        tokens = tokens + self.attn2(self.norm2(tokens), photo)
        return tokens + self.ff["net"]["2"](self.ff["net"]["0"](self.norm3(tokens)))


class Weights(nn.Module):
    """The network as a checkpoint stores it: sizes are read off the tensors, attributes are named as they are there."""

    def __init__(self, state: dict[str, Tensor]):
        super().__init__()

        def shape(name: str) -> torch.Size:
            return state[name].shape

        def count(prefix: str) -> int:
            return 1 + max(int(name[len(prefix) :].split(".")[0]) for name in state if name.startswith(prefix))

        channels, _, patch, _ = shape("image_tokenizer.model.embeddings.patch_embeddings.projection.weight")
        hidden = shape("image_tokenizer.model.layers.0.mlp.fc1.weight")[0]
        self.vision = nn.ModuleDict(
            {
                "patches": nn.Conv2d(3, channels, patch, stride=patch),
                "layers": nn.ModuleList(VisionLayer(channels, hidden) for _ in range(count("image_tokenizer.model.layers."))),
                "layernorm": nn.LayerNorm(channels, eps=1e-12),
            }
        )
        self.cls_token = nn.Parameter(torch.empty(shape("image_tokenizer.model.embeddings.cls_token")))
        self.positions = nn.Parameter(torch.empty(shape("image_tokenizer.model.embeddings.position_embeddings")))

        self.tokens = nn.Parameter(torch.empty(shape("tokenizer.embeddings")))
        inner, token_channels = shape("backbone.proj_in.weight")
        gate = shape("backbone.transformer_blocks.0.ff.net.2.weight")[1]
        self.norm = nn.GroupNorm(GROUPS, token_channels, eps=1e-6)
        self.proj_in = nn.Linear(token_channels, inner)
        blocks = count("backbone.transformer_blocks.")
        self.blocks = nn.ModuleList(TriplaneLayer(inner, channels, gate) for _ in range(blocks))
        self.proj_out = nn.Linear(inner, token_channels)
        self.upsample = nn.ConvTranspose2d(token_channels, shape("post_processor.upsample.weight")[1], 2, stride=2)

        numbers = sorted({int(name.split(".")[2]) for name in state if name.startswith("decoder.layers.")})
        self.decoder = nn.ModuleDict(
            {str(n): nn.Linear(*reversed(shape(f"decoder.layers.{n}.weight"))) for n in numbers}
        )
        self.load_state_dict({self.name_here(name): tensor for name, tensor in state.items()})

    @staticmethod
    def name_here(name: str) -> str:
        for there, here in (
            ("image_tokenizer.model.embeddings.patch_embeddings.projection.", "vision.patches."),
            ("image_tokenizer.model.embeddings.cls_token", "cls_token"),
            ("image_tokenizer.model.embeddings.position_embeddings", "positions"),
            ("image_tokenizer.model.", "vision."),
            ("tokenizer.embeddings", "tokens"),
            ("backbone.transformer_blocks.", "blocks."),
            ("backbone.", ""),
            ("post_processor.", ""),
            ("decoder.layers.", "decoder."),
        ):
            if name.startswith(there):
                return here + name[len(there) :]
        return name


class Encoder(nn.Module):
    """`image` [1, 3, S, S] in 0..1 to `scene_codes` [1, 3, C, H, W]."""

    def __init__(self, weights: Weights, image_size: int, position_embeddings: str):
        super().__init__()
        self.image_size = image_size
        self.vision, self.blocks, self.proj_out, self.upsample = (
            weights.vision,
            weights.blocks,
            weights.proj_out,
            weights.upsample,
        )
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1))
        with torch.no_grad():
            side = image_size // weights.vision["patches"].kernel_size[0]
            positions = stretched(weights.positions[:, 1:], side, position_embeddings)
            self.register_buffer("patch_positions", positions)
            self.register_buffer("first_token", weights.cls_token + weights.positions[:, :1])
            # The tokens do not know the photo yet, so all this is one constant: [1, 3 * size * size, channels].
            planes, channels, self.plane_size, _ = weights.tokens.shape
            start = weights.tokens.permute(1, 0, 2, 3).reshape(1, channels, planes * self.plane_size**2)
            tokens = weights.proj_in(weights.norm(start).transpose(1, 2))
            self.register_buffer("start", start.transpose(1, 2))
            self.register_buffer("tokens", self.blocks[0].look_at_itself(tokens))

    def forward(self, image: Tensor) -> Tensor:
        photo = self.look((image - self.mean.float()) / self.std.float())
        tokens = self.blocks[0].look_at_photo(self.tokens, photo)
        for block in self.blocks[1:]:
            tokens = block.look_at_photo(block.look_at_itself(tokens), photo)
        planes = (self.proj_out(tokens) + self.start).transpose(1, 2)
        planes = planes.reshape(-1, 3, self.plane_size, self.plane_size).transpose(0, 1)
        return self.upsample(planes)[None].float()

    def look(self, image: Tensor) -> Tensor:
        patches = self.vision["patches"](image.to(self.patch_positions.dtype)).flatten(2).transpose(1, 2)
        tokens = torch.cat((self.first_token, patches + self.patch_positions), dim=1)
        for layer in self.vision["layers"]:
            tokens = layer(tokens)
        return self.vision["layernorm"](tokens)


def stretched(positions: Tensor, side: int, like: str) -> Tensor:
    """Position embeddings [1, n * n, C] for side * side patches."""
    n = math.isqrt(positions.shape[1])
    grid = positions.reshape(1, n, n, -1).permute(0, 3, 1, 2)
    if like == "4.35":
        grid = F.interpolate(grid, scale_factor=(side + 0.1) / n, mode="bicubic", align_corners=False)
    else:
        grid = F.interpolate(grid, size=(side, side), mode="bicubic", align_corners=False)
    return grid.flatten(2).transpose(1, 2)


class Network(nn.Module):
    """What stands behind the sampled planes: `features` [N, 3C] to `density` [N, 1] and `color` [N, 3] in 0..1."""

    def __init__(self, weights: Weights, config: dict):
        super().__init__()
        self.layers = weights.decoder
        self.activation = {"relu": F.relu, "silu": F.silu}[config["decoder"].get("activation", "relu")]
        self.bias = config["renderer"].get("density_bias", -1.0)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        *hidden, last = self.layers.values()
        for layer in hidden:
            features = self.activation(layer(features))
        answer = last(features)
        return torch.exp(answer[..., :1] + self.bias), torch.sigmoid(answer[..., 1:4])


class PointsDecoder(nn.Module):
    """`scene_codes` and `points` [1, P, 3] in ±radius to `density` [1, P, 1] and `color` [1, P, 3]."""

    def __init__(self, network: Network, radius: float):
        super().__init__()
        self.network = network
        self.radius = radius

    def forward(self, scene_codes: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        x, y, z = (points[0] / self.radius).split(1, dim=1)
        grid = torch.stack([torch.cat(pair, dim=1) for pair in ((x, y), (x, z), (y, z))])
        sampled = F.grid_sample(scene_codes[0], grid[:, None], align_corners=False)
        features = sampled[:, :, 0].permute(2, 0, 1).flatten(1)
        density, color = self.network(features)
        return density[None], color[None]


def read_checkpoint(path: Path) -> dict[str, Tensor]:
    state = torch.load(path, map_location="cpu", weights_only=True)
    state = state.get("state_dict", state)
    spelled = {new_spelling(name): tensor for name, tensor in state.items()}
    return {name: tensor.float() for name, tensor in spelled.items() if ".pooler." not in name}


def new_spelling(name: str) -> str:
    """The name that transformers 5 gives a weight of the image encoder, whichever version named it."""
    if not name.startswith("image_tokenizer.model.encoder."):
        return name
    for old, new in (
        (r"\.encoder\.layer\.", ".layers."),
        (r"\.attention\.attention\.(query|key|value)\.", lambda match: f".attention.{match[1][0]}_proj."),
        (r"\.attention\.output\.dense\.", ".attention.o_proj."),
        (r"\.intermediate\.dense\.", ".mlp.fc1."),
        (r"\.output\.dense\.", ".mlp.fc2."),
    ):
        name = re.sub(old, new, name)
    return name


def to_onnx(model: nn.Module, example: dict[str, Tensor], outputs: list[str], open_axes: dict[str, dict]) -> onnx.ModelProto:
    program = torch.onnx.export(
        model.eval(),
        kwargs=example,
        input_names=list(example),
        output_names=outputs,
        dynamic_shapes={name: open_axes.get(name, {}) for name in example},
        opset_version=OPSET,
        dynamo=True,
        verbose=False,
    )
    graph = program.model_proto
    # What the exporter notes about where each node came from is a third of a small graph.
    for node in graph.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    del graph.graph.metadata_props[:]
    del graph.graph.value_info[:]
    return graph


def to_int8(weight: onnx.TensorProto) -> onnx.TensorProto:
    """Rounds a matrix [in, out] to int8 in its place, as NAME_int8. Returns the scale of each output, as NAME_scale."""
    name, values = weight.name, numpy_helper.to_array(weight)
    scale = np.maximum(np.abs(values).max(axis=0) / 127, 1e-12).astype(np.float32)
    weight.CopyFrom(numpy_helper.from_array(np.rint(values / scale).astype(np.int8), f"{name}_int8"))
    return numpy_helper.from_array(scale, f"{name}_scale")


def matrices(model: onnx.ModelProto) -> dict[str, onnx.TensorProto]:
    """The matrices of all products, by name."""
    used = {node.input[1] for node in model.graph.node if node.op_type == "MatMul"}
    return {weight.name: weight for weight in model.graph.initializer if weight.name in used and len(weight.dims) == 2}


def with_int8_weights(model: onnx.ModelProto) -> None:
    """Stores the matrices of all products as int8 and a scale for each output; what is computed stays fp32."""
    dequantize = []
    for name, weight in matrices(model).items():
        model.graph.initializer.append(to_int8(weight))
        dequantize.append(
            helper.make_node("DequantizeLinear", [f"{name}_int8", f"{name}_scale"], [name], axis=1)
        )
    for node in reversed(dequantize):
        model.graph.node.insert(0, node)


def with_int8_products(model: onnx.ModelProto) -> None:
    """Computes the products with matrices in int8: what comes in is rounded with one scale for all, as it comes.

    A processor with VNNI takes less than half of fp32's time. One node each, com.microsoft.DynamicQuantizeMatMul.
    """
    rounded = matrices(model)
    for name, weight in rounded.items():
        scale = to_int8(weight)
        zero = numpy_helper.from_array(np.zeros(scale.dims[0], np.int8), f"{name}_zero")
        model.graph.initializer.extend([scale, zero])
    for node in model.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in rounded:
            continue
        name = node.input[1]
        inputs = [node.input[0], f"{name}_int8", f"{name}_scale", f"{name}_zero"]
        node.CopyFrom(helper.make_node("DynamicQuantizeMatMul", inputs, node.output, domain="com.microsoft"))


def save(model: onnx.ModelProto, out: Path, name: str) -> None:
    """Weights lie in a file of their own: one protobuf message cannot exceed 2 GB."""
    weights = out / f"{name}.weights"
    weights.unlink(missing_ok=True)
    onnx.save(model, out / f"{name}.onnx", save_as_external_data=True, location=weights.name, size_threshold=4096)


def describe(path: Path) -> dict:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"name": path.name, "size": path.stat().st_size, "sha256": digest}


NOTICE = """# TripoSR

Made by scripts/export-triposr.py of gen3d from the checkpoint published by Tripo AI and Stability AI.

- Code: MIT, Copyright (c) 2024 Tripo AI & Stability AI, https://github.com/VAST-AI-Research/TripoSR
- Weights: MIT, the same copyright, https://huggingface.co/stabilityai/TripoSR
- Image encoder inside them: DINO ViT-B/16, Apache-2.0, Copyright (c) Facebook, Inc. and its affiliates
- Trained on renderings of a subset of Objaverse that is, in its authors' words, available under CC-BY

MIT asks that its text travels with copies: https://github.com/VAST-AI-Research/TripoSR/blob/main/LICENSE
"""


def manifest(args: argparse.Namespace, config: dict, files: list[dict], codes: Tensor) -> dict:
    kind = args.decoder
    return {
        "formatVersion": 1,
        "kind": "reconstruction",
        "name": args.out.name,
        "title": f"TripoSR ({args.precision})",
        "description": "Tripo AI and Stability AI's large reconstruction model: a photo to a triplane in one pass.",
        "licence": {
            "code": {"licence": "MIT", "source": "https://github.com/VAST-AI-Research/TripoSR"},
            "weights": {"licence": "MIT", "source": "https://huggingface.co/stabilityai/TripoSR"},
            "trainingData": {
                "licence": "CC-BY-4.0 (a subset of Objaverse, according to its authors)",
                "source": "https://huggingface.co/stabilityai/TripoSR",
            },
        },
        "graph": "encoder.onnx",
        "files": files,
        "input": {
            "tensor": "image",
            "size": config["cond_image_size"],
            "channels": 3,
            "mean": [0, 0, 0],
            "std": [255, 255, 255],
            # White makes it grow a sheet behind the object.
            "background": 0.5,
            "foregroundRatio": 0.85,
        },
        "decoder": {
            "kind": kind,
            "graph": "decoder.onnx",
            "sceneCodes": "scene_codes",
            **(
                {"features": "features", "planeChannels": codes.shape[2], "planeSize": codes.shape[3]}
                if kind == "planes"
                else {"points": "points"}
            ),
            "density": "density",
            "color": "color",
            "halfExtent": config["renderer"]["radius"],
            "up": "+z",
            "front": "+x",
        },
        "threshold": args.threshold,
        "camera": CAMERA,
    }


def check(config: dict) -> None:
    """The parts of the reference that its configuration could choose and this script does not know."""
    renderer = config["renderer"]
    for section, key, known in (
        ("renderer", "feature_reduction", "concat"),
        ("renderer", "density_activation", "exp"),
        ("renderer", "color_activation", "sigmoid"),
        ("backbone", "attention_head_dim", HEAD_CHANNELS),
        ("backbone", "norm_num_groups", GROUPS),
    ):
        found = config[section].get(key, known)
        if found != known:
            sys.exit(f"config.yaml: {section}.{key} is {found}, and this script knows {known} only")


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes a gen3d bundle of a TripoSR checkpoint.")
    parser.add_argument("checkpoint", type=Path, help="model.ckpt")
    parser.add_argument("out", type=Path, help="the bundle's folder; its last part is the bundle's name")
    parser.add_argument("--config", type=Path, help="default: config.yaml beside the checkpoint")
    parser.add_argument("--decoder", choices=["planes", "points"], default="planes", help="default: planes, which is faster")
    parser.add_argument("--precision", choices=["fp32", "fp16", "int8", "int8-cpu"], default="fp32")
    parser.add_argument("--position-embeddings", choices=["4.35", "5"], default="4.35", metavar="VERSION", help="stretched as transformers 4.35 (default, with which the published weights were trained) or 5 does")
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    args = parser.parse_args()

    config = yaml.safe_load((args.config or args.checkpoint.parent / "config.yaml").read_text())
    check(config)
    weights = Weights(read_checkpoint(args.checkpoint))
    size = config["cond_image_size"]
    encoder = Encoder(weights, size, args.position_embeddings)
    network = Network(weights, config)
    args.out.mkdir(parents=True, exist_ok=True)

    with torch.no_grad():
        channels, side = encoder.upsample.out_channels, 2 * encoder.plane_size
        codes = torch.zeros(1, 3, channels, side, side)
        # The decoder is small, and exp() of its answers leaves the range of half precision at 11: fp32 always.
        if args.decoder == "planes":
            example = {"features": torch.zeros(8, 3 * channels)}
            decoder = to_onnx(network, example, ["density", "color"], {"features": {0: torch.export.Dim("N")}})
        else:
            example = {"scene_codes": codes, "points": torch.zeros(1, 8, 3)}
            points = PointsDecoder(network, config["renderer"]["radius"])
            decoder = to_onnx(points, example, ["density", "color"], {"points": {1: torch.export.Dim("P")}})
        onnx.save(decoder, args.out / "decoder.onnx")

        if args.precision == "fp16":
            encoder.half()
        graph = to_onnx(encoder, {"image": torch.zeros(1, 3, size, size)}, ["scene_codes"], {})
    if args.precision == "int8":
        with_int8_weights(graph)
    if args.precision == "int8-cpu":
        with_int8_products(graph)
    save(graph, args.out, "encoder")

    files = [describe(args.out / name) for name in ("encoder.onnx", "encoder.weights", "decoder.onnx")]
    (args.out / "manifest.json").write_text(json.dumps(manifest(args, config, files, codes), indent=2) + "\n")
    (args.out / "NOTICE.md").write_text(NOTICE)
    print(f"{args.out}: {sum(file['size'] for file in files) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
