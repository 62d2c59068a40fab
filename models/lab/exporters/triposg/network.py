"""TripoSG's networks in PyTorch, as far as they are needed to make a shape from an image.

Written from the paper (https://arxiv.org/abs/2502.06608), from the names and shapes of the tensors in the published
checkpoints, which the modules below have, and from facts such as the order of operations and the constants. It contains
no code of TripoSG.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sizes import FREQUENCIES, LONGEST_PERIOD, PATCH_SIZE, POINT_CHANNELS, Size


class Attention(nn.Module):
    """Attention with separate projections.

    The projections are laid end to end, query first, before they are split into heads. So the channels of a head are
    consecutive in the concatenation, not in each projection.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        context: int | None = None,
        norm_heads: bool = False,
        norm_context: bool = False,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(channels, channels, bias=False)
        self.to_k = nn.Linear(context or channels, channels, bias=False)
        self.to_v = nn.Linear(context or channels, channels, bias=False)
        self.to_out = nn.ModuleList([nn.Linear(channels, channels)])
        if norm_heads:
            self.norm_q = nn.RMSNorm(channels // heads, eps=1e-6)
            self.norm_k = nn.RMSNorm(channels // heads, eps=1e-6)
        if norm_context:
            self.norm_cross = nn.LayerNorm(context or channels)

    def split(self, *projections: Tensor) -> tuple[Tensor, ...]:
        """Splits each head's channels into as many parts: each [B, heads, L, channels / heads]."""
        joined = torch.cat(projections, -1).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return joined.chunk(len(projections), -1)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Attends from `x` [B, L, C] to itself or to `context` [B, M, D]."""
        if context is None:
            query, key, value = self.split(self.to_q(x), self.to_k(x), self.to_v(x))
        else:
            if hasattr(self, "norm_cross"):
                context = self.norm_cross(context)
            (query,) = self.split(self.to_q(x))
            key, value = self.split(self.to_k(context), self.to_v(context))
        if hasattr(self, "norm_q"):
            query, key = self.norm_q(query), self.norm_k(key)
        attended = F.scaled_dot_product_attention(query, key, value)
        return self.to_out[0](attended.transpose(1, 2).flatten(2))


class Projection(nn.Module):
    """The first linear layer of a feed-forward network, and its activation."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.proj = nn.Linear(channels, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """[..., C] to [..., hidden]."""
        return F.gelu(self.proj(x))


class FeedForward(nn.Module):
    """Two linear layers."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.net = nn.Sequential(Projection(channels, 4 * channels), nn.Identity(), nn.Linear(4 * channels, channels))

    def forward(self, x: Tensor) -> Tensor:
        """[..., C] to [..., C]."""
        return self.net(x)


class Block(nn.Module):
    """A transformer block: self-attention, cross-attention and feed-forward, each of them optional."""

    def __init__(
        self,
        channels: int,
        heads: int,
        attends_itself: bool = True,
        context: int | None = None,
        norm_heads: bool = False,
        norm_context: bool = False,
        skip: bool = False,
    ) -> None:
        super().__init__()
        if skip:
            self.skip_linear = nn.Linear(2 * channels, channels)
            self.skip_norm = nn.LayerNorm(channels)
        if attends_itself:
            self.norm1 = nn.LayerNorm(channels)
            self.attn1 = Attention(channels, heads, norm_heads=norm_heads)
        if context:
            self.norm2 = nn.LayerNorm(channels)
            self.attn2 = Attention(channels, heads, context, norm_heads, norm_context)
        self.norm3 = nn.LayerNorm(channels)
        self.ff = FeedForward(channels)

    def forward(self, x: Tensor, context: Tensor | None = None, skip: Tensor | None = None) -> Tensor:
        """[B, L, C] to [B, L, C]."""
        if skip is not None:
            x = self.skip_norm(self.skip_linear(torch.cat((skip, x), -1)))
        if hasattr(self, "attn1"):
            x = x + self.attn1(self.norm1(x))
        if hasattr(self, "attn2"):
            x = x + self.attn2(self.norm2(x), context)
        return x + self.ff(self.norm3(x))


class TimeEmbedding(nn.Module):
    """Sine and cosine of the time at many periods, through two linear layers."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(channels, 4 * channels)
        self.linear_2 = nn.Linear(4 * channels, channels)

    def forward(self, time: Tensor) -> Tensor:
        """[B] to [B, C]."""
        half = self.linear_1.in_features // 2
        frequencies = torch.exp(torch.arange(half, dtype=torch.float32) * (-math.log(LONGEST_PERIOD) / half))
        angles = time[:, None] * frequencies
        return self.linear_2(F.gelu(self.linear_1(torch.cat((angles.sin(), angles.cos()), -1))))


class Flow(nn.Module):
    """The transformer that estimates in which direction the latents of the shape are (`transformer`)."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        channels, layers = size.flow_channels, size.flow_layers
        self.proj_in = nn.Linear(size.latent_channels, channels)
        self.time_proj = TimeEmbedding(channels)
        self.blocks = nn.ModuleList(
            Block(channels, size.flow_heads, context=size.vision_channels, norm_heads=True, skip=layer > layers // 2)
            for layer in range(layers)
        )
        self.norm_out = nn.LayerNorm(channels)
        self.proj_out = nn.Linear(channels, size.latent_channels)

    def forward(self, latents: Tensor, time: Tensor, image_tokens: Tensor) -> Tensor:
        """The velocity [B, T, C] at `latents` [B, T, C] and `time` [B], 1000 for noise and 0 for a shape."""
        x = torch.cat((self.time_proj(time)[:, None], self.proj_in(latents)), 1)
        half = len(self.blocks) // 2
        outputs: list[Tensor] = []
        for layer, block in enumerate(self.blocks):
            x = block(x, image_tokens, outputs.pop() if layer > half else None)
            if layer < half:
                outputs.append(x)
        return self.proj_out(self.norm_out(x[:, 1:]))

    def step(self, latents: Tensor, image_tokens: Tensor, time: float, step_size: float, guidance: float) -> Tensor:
        """One Euler step with classifier-free guidance against an image whose tokens are all zero."""
        times = torch.full((1,), time, dtype=torch.float32)
        plain = self(latents, times, torch.zeros_like(image_tokens))
        return latents + step_size * (plain + guidance * (self(latents, times, image_tokens) - plain))


def sample(flow: Flow, noise: Tensor, image_tokens: Tensor, steps: int, guidance: float) -> list[Tensor]:
    """The latents [1, T, C] after each step."""
    latents = [noise]
    for step in range(steps):
        latents.append(flow.step(latents[-1], image_tokens, 1000 * (1 - step / steps), 1 / steps, guidance))
    return latents[1:]


class ShapeDecoder(nn.Module):
    """The decoder of the autoencoder."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        channels, heads = size.shape_channels, size.shape_heads
        own = [Block(channels, heads) for _ in range(size.shape_layers)]
        last = Block(channels, heads, attends_itself=False, context=channels, norm_context=True)
        self.blocks = nn.ModuleList([*own, last])
        self.proj_query = nn.Linear(POINT_CHANNELS, channels)
        self.norm_out = nn.LayerNorm(channels)
        self.proj_out = nn.Linear(channels, 1)


class SurfaceEncoder(nn.Module):
    """The encoder of the autoencoder. It makes latents from a surface, and is not used here."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        channels, heads = size.surface_channels, size.shape_heads
        first = Block(channels, heads, attends_itself=False, context=channels, norm_context=True)
        self.proj_in = nn.Linear(POINT_CHANNELS + 3, channels)
        self.blocks = nn.ModuleList([first, *(Block(channels, heads) for _ in range(size.surface_layers))])
        self.norm_out = nn.LayerNorm(channels)


class Autoencoder(nn.Module):
    """The autoencoder of shapes (`vae`)."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.encoder = SurfaceEncoder(size)
        self.decoder = ShapeDecoder(size)
        self.quant = nn.Linear(size.surface_channels, 2 * size.latent_channels)
        self.post_quant = nn.Linear(size.latent_channels, size.shape_channels)

    def decode(self, latents: Tensor) -> Tensor:
        """The tokens of a shape [1, T, C] from its latents [1, T, D]."""
        x = self.post_quant(latents)
        for block in self.decoder.blocks[:-1]:
            x = block(x)
        return x

    def density(self, tokens: Tensor, points: Tensor) -> Tensor:
        """The field [1, P, 1] at `points` [1, P, 3]. It is above 0 inside."""
        decoder = self.decoder
        angles = (points[..., None] * 2.0 ** torch.arange(FREQUENCIES)).flatten(-2)
        queries = decoder.proj_query(torch.cat((points, angles.sin(), angles.cos()), -1))
        return -decoder.proj_out(decoder.norm_out(decoder.blocks[-1](queries, tokens)))


class VisionAttention(nn.Module):
    """Self-attention of the image encoder."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention = nn.ModuleDict({part: nn.Linear(channels, channels) for part in ("query", "key", "value")})
        self.output = nn.ModuleDict({"dense": nn.Linear(channels, channels)})

    def forward(self, x: Tensor) -> Tensor:
        """[1, L, C] to [1, L, C]."""
        parts = (layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in self.attention.values())
        return self.output["dense"](F.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2))


class Scale(nn.Module):
    """A factor per channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.lambda1 = nn.Parameter(torch.ones(channels))


class VisionLayer(nn.Module):
    """A layer of the image encoder."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(channels, eps=1e-6)
        self.attention = VisionAttention(channels, heads)
        self.layer_scale1 = Scale(channels)
        self.norm2 = nn.LayerNorm(channels, eps=1e-6)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(channels, 4 * channels), "fc2": nn.Linear(4 * channels, channels)})
        self.layer_scale2 = Scale(channels)

    def forward(self, x: Tensor) -> Tensor:
        """[1, L, C] to [1, L, C]."""
        x = x + self.layer_scale1.lambda1 * self.attention(self.norm1(x))
        return x + self.layer_scale2.lambda1 * self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))


class VisionEmbeddings(nn.Module):
    """The first tokens of an image."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        channels = size.vision_channels
        self.cls_token = nn.Parameter(torch.zeros(1, 1, channels))
        self.mask_token = nn.Parameter(torch.zeros(1, channels))
        self.position_embeddings = nn.Parameter(torch.zeros(1, 1 + size.trained_side**2, channels))
        self.patch_embeddings = nn.ModuleDict({"projection": nn.Conv2d(3, channels, PATCH_SIZE, PATCH_SIZE)})
        self.trained_side = size.trained_side

    def forward(self, image: Tensor) -> Tensor:
        """[1, 3, S, S] to [1, L, C]."""
        patches = self.patch_embeddings["projection"](image)
        first, grid = self.position_embeddings.split((1, self.trained_side**2), 1)
        grid = grid.unflatten(1, (self.trained_side, -1)).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=patches.shape[2:], mode="bicubic", align_corners=False)
        return torch.cat((self.cls_token + first, (patches + grid).flatten(2).transpose(1, 2)), 1)


class ImageEncoder(nn.Module):
    """DINOv2 (`image_encoder_dinov2`)."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.embeddings = VisionEmbeddings(size)
        layers = [VisionLayer(size.vision_channels, size.vision_heads) for _ in range(size.vision_layers)]
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(layers)})
        self.layernorm = nn.LayerNorm(size.vision_channels, eps=1e-6)

    def forward(self, image: Tensor) -> Tensor:
        """The tokens [1, L, C] of an image [1, 3, S, S] with ImageNet's mean 0 and deviation 1."""
        x = self.embeddings(image)
        for layer in self.encoder["layer"]:
            x = layer(x)
        return self.layernorm(x)
