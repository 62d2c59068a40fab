"""Writes the skeleton of TripoSR: ONNX graphs without weights, which `gen3d models pull triposr` completes.

    pip install onnx==1.23.1 numpy
    python3 models/lab/exporters/triposr/export.py models/skeletons/triposr

Every weight is an initializer with the name, shape and layout that it has in the published checkpoint, and external
data without an offset. gen3d reads the offsets from the checkpoint and writes them into the graph: no weight is
converted or copied. The code below follows the published description of the network:

- Linear layers are Gemm nodes with transB=1, which takes PyTorch's [out, in] unchanged.
- Attention is one node, com.microsoft.MultiHeadAttention, which onnxruntime computes in tiles. As matrix products, it
  needs 600 MB for its 16 x 3072 x 3072 weights and three times as long.
- The position embeddings, trained for 14 x 14 patches, are interpolated to 32 x 32 by a Resize node. transformers 4.35,
  with which the network was trained, scales by 32.1 / 14, and so does the graph.
- The tokens of the triplane do not depend on the image until their first cross-attention. onnxruntime computes that
  part, like the interpolation, once when it loads the graph (constant folding).

`encoder-fp16.onnx` has the large matrices in half precision. Its norms, residuals and biases, and everything that is
computed when the graph is loaded, stay in float32.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx

from sizes import (
    DECODER_LAYERS,
    DECODER_NEURONS,
    DENSITY_BIAS,
    GROUPS,
    HEAD_CHANNELS,
    IMAGE_SIZE,
    PATCH_SIZE,
    SCENE_CHANNELS,
    SIZES,
    TRAINED_SIDE,
    Size,
)

sys.path.append(str(Path(__file__).parents[1]))
from onnx_graph import Graph

CHECKPOINT = "model.ckpt"


def encoder(size: Size, half: bool = False) -> onnx.ModelProto:
    """`image` [1, 3, S, S] in 0 to 1 to `scene_codes` [1, 3, C, H, W]."""
    graph = Graph(CHECKPOINT, half)
    side = size.plane_size
    # Constants that are folded on loading stay in float32: the CPU folds them, and has no half-precision kernels.
    graph.half = False
    image = embed_patches(graph, size)
    start, tokens = first_tokens(graph, size)
    tokens = self_attention(graph, tokens, 0, size)
    graph.half = half

    image_tokens = graph.narrow(encode_image(graph, image, size))
    for block in range(size.layers):
        if block > 0:
            tokens = self_attention(graph, tokens, block, size)
        tokens = attend_to_image(graph, tokens, image_tokens, block, size)
    tokens = graph.linear(graph.narrow(tokens), "backbone.proj_out", size.channels, size.channels)
    planes = graph.add("Add", graph.widen(tokens), start)
    planes = graph.add("Transpose", graph.reshape(planes, 3, side * side, size.channels), perm=[0, 2, 1])
    weight = graph.weight("post_processor.upsample.weight", size.channels, SCENE_CHANNELS, 2, 2)
    bias = graph.weight("post_processor.upsample.bias", SCENE_CHANNELS)
    planes = graph.reshape(planes, 3, size.channels, side, side)
    codes = graph.add("ConvTranspose", planes, weight, bias, kernel_shape=[2, 2], strides=[2, 2])
    shape = [1, 3, SCENE_CHANNELS, 2 * side, 2 * side]
    image = {"image": [1, 3, IMAGE_SIZE, IMAGE_SIZE]}
    return graph.model("triposr", image, {"scene_codes": (graph.reshape(codes, *shape), shape)})


def embed_patches(graph: Graph, size: Size) -> str:
    """The tokens of the image [1 + patches, C]."""
    prefix = "image_tokenizer.model.embeddings"
    channels, side = size.vision_channels, IMAGE_SIZE // PATCH_SIZE
    mean = graph.constant(np.reshape([0.485, 0.456, 0.406], (1, 3, 1, 1)))
    std = graph.constant(np.reshape([0.229, 0.224, 0.225], (1, 3, 1, 1)))
    image = graph.add("Div", graph.add("Sub", "image", mean), std)
    weight = graph.weight(f"{prefix}.patch_embeddings.projection.weight", channels, 3, PATCH_SIZE, PATCH_SIZE)
    bias = graph.weight(f"{prefix}.patch_embeddings.projection.bias", channels)
    kernel = [PATCH_SIZE, PATCH_SIZE]
    patches = graph.add("Conv", image, weight, bias, kernel_shape=kernel, strides=kernel)

    trained = TRAINED_SIDE * TRAINED_SIDE
    positions = graph.reshape(graph.weight(f"{prefix}.position_embeddings", 1, 1 + trained, channels), -1, channels)
    first_position, positions = graph.add("Split", positions, graph.constant([1, trained], np.int64), outputs=2, axis=0)
    positions = graph.reshape(graph.add("Transpose", positions, perm=[1, 0]), 1, channels, TRAINED_SIDE, TRAINED_SIDE)
    scale = (side + 0.1) / TRAINED_SIDE
    positions = graph.add(
        "Resize",
        positions,
        "",
        graph.constant([1, 1, scale, scale]),
        mode="cubic",
        cubic_coeff_a=-0.75,
        coordinate_transformation_mode="half_pixel",
    )
    positions = graph.add("Transpose", graph.reshape(positions, channels, side * side), perm=[1, 0])
    patches = graph.add("Transpose", graph.reshape(patches, channels, side * side), perm=[1, 0])
    first = graph.reshape(graph.weight(f"{prefix}.cls_token", 1, 1, channels), 1, channels)
    first = graph.add("Add", first, first_position)
    return graph.add("Concat", first, graph.add("Add", patches, positions), axis=0)


def encode_image(graph: Graph, tokens: str, size: Size) -> str:
    """The layers of the image encoder, a ViT."""
    channels = size.vision_channels
    for layer in range(size.vision_layers):
        prefix = f"image_tokenizer.model.encoder.layer.{layer}"
        normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.layernorm_before", channels, 1e-12))
        attended = graph.attention(
            *(
                graph.linear(normed, f"{prefix}.attention.attention.{part}", channels, channels)
                for part in ("query", "key", "value")
            ),
            channels // HEAD_CHANNELS,
            channels,
        )
        attended = graph.linear(attended, f"{prefix}.attention.output.dense", channels, channels)
        tokens = graph.add("Add", tokens, graph.widen(attended))
        normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.layernorm_after", channels, 1e-12))
        hidden = graph.add("Gelu", graph.linear(normed, f"{prefix}.intermediate.dense", channels, 4 * channels))
        tokens = graph.add(
            "Add", tokens, graph.widen(graph.linear(hidden, f"{prefix}.output.dense", 4 * channels, channels))
        )
    return graph.layer_norm(tokens, "image_tokenizer.model.layernorm", channels, 1e-12)


def first_tokens(graph: Graph, size: Size) -> tuple[str, str]:
    """The tokens of the triplane [3 * side * side, C], as stored and after norm and projection."""
    channels, side = size.channels, size.plane_size
    count = 3 * side * side
    embeddings = graph.weight("tokenizer.embeddings", 3, channels, side, side)
    planes = graph.reshape(embeddings, 3, channels, side * side)
    start = graph.reshape(graph.add("Transpose", planes, perm=[0, 2, 1]), count, channels)
    # GroupNorm: all positions of the channels of one group share mean and variance.
    grouped = graph.reshape(graph.add("Transpose", start, perm=[1, 0]), 1, GROUPS, -1)
    ones, zeros = graph.constant(np.ones(GROUPS)), graph.constant(np.zeros(GROUPS))
    grouped = graph.add("InstanceNormalization", grouped, ones, zeros, epsilon=1e-6)
    normed = graph.add("Transpose", graph.reshape(grouped, channels, count), perm=[1, 0])
    normed = graph.add("Mul", normed, graph.weight("backbone.norm.weight", channels))
    normed = graph.add("Add", normed, graph.weight("backbone.norm.bias", channels))
    return start, graph.linear(normed, "backbone.proj_in", channels, channels)


def self_attention(graph: Graph, tokens: str, block: int, size: Size) -> str:
    """Self-attention of a block."""
    prefix = f"backbone.transformer_blocks.{block}"
    normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.norm1", size.channels, 1e-5))
    return attend(graph, tokens, normed, normed, f"{prefix}.attn1", size.channels, size.channels)


def attend_to_image(graph: Graph, tokens: str, image: str, block: int, size: Size) -> str:
    """Cross-attention to the image and feed-forward layers of a block."""
    prefix = f"backbone.transformer_blocks.{block}"
    channels = size.channels
    normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.norm2", channels, 1e-5))
    tokens = attend(graph, tokens, normed, image, f"{prefix}.attn2", channels, size.vision_channels)
    normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.norm3", channels, 1e-5))
    gated = graph.linear(normed, f"{prefix}.ff.net.0.proj", channels, 8 * channels)
    value, gate = graph.add("Split", gated, outputs=2, axis=1, num_outputs=2)
    hidden = graph.add("Mul", value, graph.add("Gelu", gate))
    return graph.add("Add", tokens, graph.widen(graph.linear(hidden, f"{prefix}.ff.net.2", 4 * channels, channels)))


def attend(graph: Graph, tokens: str, normed: str, context: str, prefix: str, channels: int, width: int) -> str:
    """Attention from `normed` to `context`, with projections and residual."""
    query = graph.linear(normed, f"{prefix}.to_q", channels, channels, bias=False)
    key = graph.linear(context, f"{prefix}.to_k", width, channels, bias=False)
    value = graph.linear(context, f"{prefix}.to_v", width, channels, bias=False)
    attended = graph.attention(query, key, value, channels // HEAD_CHANNELS, channels)
    attended = graph.linear(attended, f"{prefix}.to_out.0", channels, channels)
    return graph.add("Add", tokens, graph.widen(attended))


def decoder() -> onnx.ModelProto:
    """`features` [N, 3C], sampled from the planes, to `density` [N, 1] and `color` [N, 3] in 0 to 1. Always float32."""
    graph = Graph(CHECKPOINT)
    x, width = "features", 3 * SCENE_CHANNELS
    for layer in range(DECODER_LAYERS):
        x = graph.linear(x, f"decoder.layers.{2 * layer}", width, DECODER_NEURONS)
        x = graph.add("Mul", x, graph.add("Sigmoid", x))
        width = DECODER_NEURONS
    x = graph.linear(x, f"decoder.layers.{2 * DECODER_LAYERS}", width, 4)
    density, color = graph.add("Split", x, graph.constant([1, 3], np.int64), outputs=2, axis=1)
    density = graph.add("Exp", graph.add("Add", density, graph.constant(DENSITY_BIAS)))
    color = graph.add("Sigmoid", color)
    outputs = {"density": (density, ["N", 1]), "color": (color, ["N", 3])}
    return graph.model("triposr", {"features": ["N", 3 * SCENE_CHANNELS]}, outputs)


def main() -> None:
    """Writes the three graphs."""
    parser = argparse.ArgumentParser(description="Writes the skeleton of TripoSR.")
    parser.add_argument("out", type=Path, help="folder for the graphs")
    parser.add_argument("--size", choices=SIZES, default="full", help="the smaller ones are for tests")
    args = parser.parse_args()
    size = SIZES[args.size]
    args.out.mkdir(parents=True, exist_ok=True)
    graphs = {
        "encoder.onnx": encoder(size),
        "encoder-fp16.onnx": encoder(size, half=True),
        "decoder.onnx": decoder(),
    }
    for name, model in graphs.items():
        (args.out / name).write_bytes(model.SerializeToString(deterministic=True))
        print(f"{args.out / name}: {model.ByteSize()} bytes")


if __name__ == "__main__":
    main()
