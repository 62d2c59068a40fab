"""Writes the skeleton of TripoSG: ONNX graphs without weights, which `gen3d models pull triposg` completes.

    pip install onnx==1.23.1 numpy
    python3 models/lab/exporters/triposg/export.py models/skeletons/triposg

The networks are those of network.py. There are four graphs, each also with its large matrices in half precision:

- `encoder.onnx`: an image to its tokens.
- `step.onnx`: one step of the sampler, including guidance. Its output is its next input. The two rows
  of the guidance (with the image, and with all-zero image tokens) differ only after the first cross-attention.
  Cross-attention to zeros is the bias of its last layer, because keys and values have no bias.
- `latents.onnx`: latents to the keys and values for all points.
- `points.onnx`: the field at points.

Norms, residuals, biases, and the sines and cosines stay in float32.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx

from sizes import FREQUENCIES, LONGEST_PERIOD, PATCH_SIZE, POINT_CHANNELS, SIZES, Size

sys.path.append(str(Path(__file__).parents[1]))
from onnx_graph import Graph

END = np.iinfo(np.int64).max


def encoder(size: Size, half: bool) -> onnx.ModelProto:
    """`image` [1, 3, S, S], normalized, to `image_tokens` [1, L, C]."""
    graph = Graph("image_encoder.safetensors", half)
    channels = size.vision_channels
    tokens = embed_patches(graph, size)
    for layer in range(size.vision_layers):
        prefix = f"encoder.layer.{layer}"
        normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.norm1", channels, 1e-6))
        parts = (
            graph.linear(normed, f"{prefix}.attention.attention.{part}", channels, channels)
            for part in ("query", "key", "value")
        )
        attended = graph.attention(*parts, size.vision_heads, channels)
        attended = graph.widen(graph.linear(attended, f"{prefix}.attention.output.dense", channels, channels))
        scale = graph.weight(f"{prefix}.layer_scale1.lambda1", channels)
        tokens = graph.add("Add", tokens, graph.add("Mul", attended, scale))
        normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.norm2", channels, 1e-6))
        hidden = graph.add("Gelu", graph.linear(normed, f"{prefix}.mlp.fc1", channels, 4 * channels))
        hidden = graph.widen(graph.linear(hidden, f"{prefix}.mlp.fc2", 4 * channels, channels))
        scale = graph.weight(f"{prefix}.layer_scale2.lambda1", channels)
        tokens = graph.add("Add", tokens, graph.add("Mul", hidden, scale))
    tokens = graph.layer_norm(tokens, "layernorm", channels, 1e-6)
    shape = [1, size.image_tokens, channels]
    image = {"image": [1, 3, size.image_size, size.image_size]}
    return graph.model("triposg-encoder", image, {"image_tokens": (graph.reshape(tokens, *shape), shape)})


def embed_patches(graph: Graph, size: Size) -> str:
    """The first tokens of the image [1 + patches, C]. Positions are interpolated when the graph is loaded."""
    channels, side, trained = size.vision_channels, size.patches, size.trained_side
    weight = graph.weight("embeddings.patch_embeddings.projection.weight", channels, 3, PATCH_SIZE, PATCH_SIZE)
    bias = graph.weight("embeddings.patch_embeddings.projection.bias", channels)
    kernel = [PATCH_SIZE, PATCH_SIZE]
    patches = graph.add("Conv", "image", weight, bias, kernel_shape=kernel, strides=kernel)

    positions = graph.weight("embeddings.position_embeddings", 1, 1 + trained**2, channels)
    lengths = graph.constant([1, trained**2], np.int64)
    first, grid = graph.add("Split", graph.reshape(positions, -1, channels), lengths, outputs=2, axis=0)
    grid = graph.reshape(graph.add("Transpose", grid, perm=[1, 0]), 1, channels, trained, trained)
    grid = graph.add(
        "Resize",
        grid,
        "",
        "",
        graph.constant([1, channels, side, side], np.int64),
        mode="cubic",
        cubic_coeff_a=-0.75,
        coordinate_transformation_mode="half_pixel",
    )
    patches = graph.reshape(graph.add("Add", patches, grid), channels, side * side)
    start = graph.add("Add", graph.reshape(graph.weight("embeddings.cls_token", 1, 1, channels), 1, channels), first)
    return graph.add("Concat", start, graph.add("Transpose", patches, perm=[1, 0]), axis=0)


def step(size: Size, half: bool) -> onnx.ModelProto:
    """One Euler step: `latents` and the other inputs to `next_latents` [1, T, C]."""
    graph = Graph("transformer.safetensors", half)
    channels, layers = size.flow_channels, size.flow_layers
    latents = graph.narrow(graph.reshape("latents", -1, size.latent_channels))
    tokens = graph.widen(graph.linear(latents, "proj_in", size.latent_channels, channels))
    tokens = graph.add("Concat", embed_time(graph, channels), tokens, axis=0)
    image = graph.narrow(graph.reshape("image_tokens", -1, size.vision_channels))
    skips: list[str] = []
    for layer in range(layers):
        prefix = f"blocks.{layer}"
        if layer > layers // 2:
            tokens = graph.narrow(graph.add("Concat", skips.pop(), tokens, axis=1))
            tokens = graph.widen(graph.linear(tokens, f"{prefix}.skip_linear", 2 * channels, channels))
            tokens = graph.layer_norm(tokens, f"{prefix}.skip_norm", channels, 1e-5)
        rows = 1 if layer == 0 else 2
        tokens = attend_itself(graph, tokens, prefix, channels, size.flow_heads, rows, norm_heads=True)
        plain, pictured = (
            (tokens, tokens) if rows == 1 else graph.add("Split", tokens, outputs=2, axis=0, num_outputs=2)
        )
        pictured = attend_to(graph, pictured, image, prefix, channels, size.vision_channels, size.flow_heads)
        plain = graph.add("Add", plain, graph.weight(f"{prefix}.attn2.to_out.0.bias", channels))
        tokens = feed_forward(graph, graph.add("Concat", plain, pictured, axis=0), prefix, channels)
        if layer < layers // 2:
            skips.append(tokens)
    tokens = graph.reshape(graph.layer_norm(tokens, "norm_out", channels, 1e-5), 2, -1, channels)
    # The first token is the time.
    bounds = [graph.constant([bound], np.int64) for bound in (1, END, 1)]
    tokens = graph.narrow(graph.reshape(graph.add("Slice", tokens, *bounds), -1, channels))
    velocity = graph.widen(graph.linear(tokens, "proj_out", channels, size.latent_channels))
    velocity = graph.reshape(velocity, 2, -1, size.latent_channels)
    plain, pictured = graph.add("Split", velocity, outputs=2, axis=0, num_outputs=2)
    guided = graph.add("Add", plain, graph.add("Mul", "guidance", graph.add("Sub", pictured, plain)))
    moved = graph.add("Add", "latents", graph.add("Mul", "step_size", guided))
    shape = [1, "tokens", size.latent_channels]
    inputs = {
        "latents": shape,
        "image_tokens": [1, size.image_tokens, size.vision_channels],
        "timestep": [1],
        "step_size": [1],
        "guidance": [1],
    }
    return graph.model("triposg-step", inputs, {"next_latents": (moved, shape)})


def embed_time(graph: Graph, channels: int) -> str:
    """The token of the time [1, C]."""
    half = channels // 2
    frequencies = np.exp(np.arange(half, dtype=np.float32) * np.float32(-np.log(LONGEST_PERIOD) / half))
    angles = graph.add("Mul", graph.reshape("timestep", 1, 1), graph.constant(frequencies[None]))
    waves = graph.narrow(graph.add("Concat", graph.add("Sin", angles), graph.add("Cos", angles), axis=1))
    hidden = graph.add("Gelu", graph.linear(waves, "time_proj.linear_1", channels, 4 * channels))
    return graph.widen(graph.linear(hidden, "time_proj.linear_2", 4 * channels, channels))


def latents(size: Size, half: bool) -> onnx.ModelProto:
    """`latents` [1, T, D] to `scene_codes` [1, T, 2C]: the keys and values for all points."""
    graph = Graph("vae.safetensors", half)
    channels, heads = size.shape_channels, size.shape_heads
    start = graph.narrow(graph.reshape("latents", -1, size.latent_channels))
    tokens = graph.widen(graph.linear(start, "post_quant", size.latent_channels, channels))
    for layer in range(size.shape_layers):
        prefix = f"decoder.blocks.{layer}"
        tokens = attend_itself(graph, tokens, prefix, channels, heads, 1, norm_heads=False)
        tokens = feed_forward(graph, tokens, prefix, channels)
    prefix = f"decoder.blocks.{size.shape_layers}.attn2"
    context = graph.narrow(graph.layer_norm(tokens, f"{prefix}.norm_cross", channels, 1e-5))
    parts = [graph.linear(context, f"{prefix}.{part}", channels, channels, bias=False) for part in ("to_k", "to_v")]
    codes = graph.widen(graph.add("Concat", *parts, axis=1))
    shape = [1, "tokens", 2 * channels]
    inputs = {"latents": [1, "tokens", size.latent_channels]}
    return graph.model("triposg-latents", inputs, {"scene_codes": (graph.reshape(codes, 1, -1, 2 * channels), shape)})


def points(size: Size, half: bool) -> onnx.ModelProto:
    """`scene_codes` [1, T, 2C] and `points` [1, P, 3] to `density` [1, P, 1], which is above 0 inside."""
    graph = Graph("vae.safetensors", half)
    channels, heads = size.shape_channels, size.shape_heads
    prefix = f"decoder.blocks.{size.shape_layers}"
    flat = graph.reshape("points", -1, 3)
    angles = graph.add("Mul", graph.reshape("points", -1, 3, 1), graph.constant(2.0 ** np.arange(FREQUENCIES)))
    angles = graph.reshape(angles, -1, 3 * FREQUENCIES)
    waves = graph.add("Concat", flat, graph.add("Sin", angles), graph.add("Cos", angles), axis=1)
    queries = graph.widen(graph.linear(graph.narrow(waves), "decoder.proj_query", POINT_CHANNELS, channels))
    normed = graph.narrow(graph.layer_norm(queries, f"{prefix}.norm2", channels, 1e-5))
    query = graph.linear(normed, f"{prefix}.attn2.to_q", channels, channels, bias=False)
    key, value = split_heads(graph, graph.narrow("scene_codes"), channels, heads, 1, 2)
    attended = graph.attention(query, key, value, heads, channels)
    attended = graph.widen(graph.linear(attended, f"{prefix}.attn2.to_out.0", channels, channels))
    queries = feed_forward(graph, graph.add("Add", queries, attended), prefix, channels)
    normed = graph.narrow(graph.layer_norm(queries, "decoder.norm_out", channels, 1e-5))
    density = graph.add("Neg", graph.widen(graph.linear(normed, "decoder.proj_out", channels, 1)))
    inputs = {"scene_codes": [1, "tokens", 2 * channels], "points": [1, "points", 3]}
    shape = [1, "points", 1]
    return graph.model("triposg-points", inputs, {"density": (graph.reshape(density, 1, -1, 1), shape)})


def split_heads(graph: Graph, joined: str, channels: int, heads: int, rows: int, parts: int) -> list[str]:
    """Splits each head's channels of `joined` [rows * L, parts * C] into parts [rows, L, heads, C / heads]."""
    shaped = graph.reshape(joined, rows, -1, heads, parts * channels // heads)
    return graph.add("Split", shaped, outputs=parts, axis=3, num_outputs=parts)


def norm_heads_of(graph: Graph, x: str, name: str, channels: int) -> str:
    """Scales each head [..., C] to a root mean square of 1."""
    scale = graph.narrow(graph.weight(f"{name}.weight", channels))
    return graph.add("SimplifiedLayerNormalization", x, scale, axis=-1, epsilon=1e-6)


def attend_itself(
    graph: Graph, tokens: str, prefix: str, channels: int, heads: int, rows: int, norm_heads: bool
) -> str:
    """Self-attention of a block, with residual."""
    normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.norm1", channels, 1e-5))
    parts = [
        graph.linear(normed, f"{prefix}.attn1.{part}", channels, channels, bias=False)
        for part in ("to_q", "to_k", "to_v")
    ]
    query, key, value = split_heads(graph, graph.add("Concat", *parts, axis=1), channels, heads, rows, 3)
    if norm_heads:
        query = norm_heads_of(graph, query, f"{prefix}.attn1.norm_q", channels // heads)
        key = norm_heads_of(graph, key, f"{prefix}.attn1.norm_k", channels // heads)
    attended = graph.attention(query, key, value, heads, channels, rows)
    attended = graph.linear(attended, f"{prefix}.attn1.to_out.0", channels, channels)
    return graph.add("Add", tokens, graph.widen(attended))


def attend_to(graph: Graph, tokens: str, image: str, prefix: str, channels: int, width: int, heads: int) -> str:
    """Cross-attention of a block of the flow transformer, with residual."""
    normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.norm2", channels, 1e-5))
    query = graph.linear(normed, f"{prefix}.attn2.to_q", channels, channels, bias=False)
    query = graph.reshape(query, 1, -1, heads, channels // heads)
    parts = [graph.linear(image, f"{prefix}.attn2.{part}", width, channels, bias=False) for part in ("to_k", "to_v")]
    key, value = split_heads(graph, graph.add("Concat", *parts, axis=1), channels, heads, 1, 2)
    query = norm_heads_of(graph, query, f"{prefix}.attn2.norm_q", channels // heads)
    key = norm_heads_of(graph, key, f"{prefix}.attn2.norm_k", channels // heads)
    attended = graph.attention(query, key, value, heads, channels)
    attended = graph.linear(attended, f"{prefix}.attn2.to_out.0", channels, channels)
    return graph.add("Add", tokens, graph.widen(attended))


def feed_forward(graph: Graph, tokens: str, prefix: str, channels: int) -> str:
    """The feed-forward network of a block, with residual."""
    normed = graph.narrow(graph.layer_norm(tokens, f"{prefix}.norm3", channels, 1e-5))
    hidden = graph.add("Gelu", graph.linear(normed, f"{prefix}.ff.net.0.proj", channels, 4 * channels))
    return graph.add("Add", tokens, graph.widen(graph.linear(hidden, f"{prefix}.ff.net.2", 4 * channels, channels)))


GRAPHS = {"encoder": encoder, "step": step, "latents": latents, "points": points}


def main() -> None:
    """Writes the graphs."""
    parser = argparse.ArgumentParser(description="Writes the skeleton of TripoSG.")
    parser.add_argument("out", type=Path, help="folder for the graphs")
    parser.add_argument("--size", choices=SIZES, default="full", help="the smaller one is for tests")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, build in GRAPHS.items():
        for half in (False, True):
            path = args.out / f"{name}{'-fp16' if half else ''}.onnx"
            model = build(SIZES[args.size], half)
            path.write_bytes(model.SerializeToString(deterministic=True))
            print(f"{path}: {model.ByteSize()} bytes")


if __name__ == "__main__":
    main()
