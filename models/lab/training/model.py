"""The network: a U-Net from a framed cutout to columns. See docs/bundles.md, decoder kind `columns`."""

import torch
import torch.nn.functional as F
from torch import nn

from presets import Preset


# Share of the samples for which a transformer layer is left out in training.
DROPPED = 0.05


def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, fused: bool) -> torch.Tensor:
    """Attention [B,heads,tokens,channels]. `fused` saves memory in training; the export needs plain operations."""
    if fused:
        return F.scaled_dot_product_attention(q, k, v)
    return (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1) @ v


class Block(nn.Module):
    """Two convolutions with a shortcut (He et al. 2016, pre-activation)."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, stride, 1)
        self.norm2, self.conv2 = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.around = nn.Conv2d(inputs, outputs, 1, stride) if inputs != outputs or stride != 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B,inputs,H,W] -> [B,outputs,H/stride,W/stride]"""
        return self.around(x) + self.conv2(F.silu(self.norm2(self.conv1(F.silu(self.norm1(x))))))


class Attention(nn.Module):
    """Self-attention over all pixels: the near leg of a chair shows what the far one looks like."""

    def __init__(self, channels: int, heads: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.project, self.out = (
            nn.GroupNorm(8, channels),
            nn.Conv2d(channels, 3 * channels, 1),
            nn.Conv2d(channels, channels, 1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B,channels,H,W] -> the same shape"""
        b, c, h, w = x.shape
        q, k, v = (
            self.project(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).transpose(-1, -2).unbind(1)
        )
        return x + self.out(attended(q, k, v, self.training).transpose(-1, -2).reshape(b, c, h, w))


class Layer(nn.Module):
    """A pre-norm transformer layer (Vaswani et al. 2017; Xiong et al. 2020) over tokens."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.project, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.wide, self.narrow = (
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )
        # Starts as the identity, so that a network that was trained with fewer layers can continue with more.
        for layer in (self.out, self.narrow):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B,tokens,width] -> the same shape"""
        b, t, c = x.shape
        q, k, v = self.project(self.norm1(x)).reshape(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.kept(self.out(attended(q, k, v, self.training).transpose(1, 2).reshape(b, t, c)))
        return x + self.kept(self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh")))

    def kept(self, change: torch.Tensor) -> torch.Tensor:
        """Leaves out the change of some samples while training (stochastic depth, Huang et al. 2016)."""
        if not self.training or DROPPED == 0:
            return change
        keep = (torch.rand(len(change), 1, 1, device=change.device) >= DROPPED).to(change.dtype)
        return change * keep / (1 - DROPPED)


class Transformer(nn.Module):
    """Transformer layers over all squares of `patch` pixels, at an eighth of the columns' resolution.

    Starts as the identity, so a network that was trained without it can continue with it.
    """

    def __init__(self, channels: int, side: int, width: int, layers: int, patch: int) -> None:
        super().__init__()
        self.patch = patch
        side, channels = side // patch, channels * patch * patch
        self.position = nn.Parameter(torch.randn(1, side * side, width) * 0.02)
        self.enter = nn.Linear(channels, width)
        self.layers = nn.Sequential(*(Layer(width, 8) for _ in range(layers)))
        self.leave = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, channels))
        nn.init.zeros_(self.leave[1].weight)
        nn.init.zeros_(self.leave[1].bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B,channels,side,side] -> the same shape"""
        # A patch of one would add operations without effect to the exported graph.
        squares = x if self.patch == 1 else F.pixel_unshuffle(x, self.patch)
        tokens = self.layers(self.enter(squares.flatten(2).transpose(1, 2)) + self.position)
        out = self.leave(tokens).transpose(1, 2).reshape(squares.shape)
        return x + (out if self.patch == 1 else F.pixel_shuffle(out, self.patch))


def doubled(x: torch.Tensor) -> torch.Tensor:
    """Repeats each pixel four times.

    Not F.interpolate in training: its gradient is zero under torch.compile on a CPU in bfloat16 (PyTorch 2.13). In the
    exported graph, it is one operation instead of eight.
    """
    if torch.onnx.is_in_onnx_export():
        return F.interpolate(x, scale_factor=2, mode="nearest")
    b, c, h, w = x.shape
    return x[:, :, :, None, :, None].expand(b, c, h, 2, w, 2).reshape(b, c, 2 * h, 2 * w)


class Columns(nn.Module):
    """The network.

        image [B,4,S,S]: RGB in 0 to 1 on gray 0.5, and the matte
        -> front_depth [B,S/2,S/2]: depth of the first surface, -1 (near face of the box) to 1 (far face)
           occupancy [B,steps,S/2,S/2]: logits of how full the column is within half a step of k steps behind the front
           back_color [B,3,S/2,S/2]: color of the last surface, logits of 0 to 1
           elevation [B]: angle in radians by which the camera looked down

    The trunk sees the image at half its size; a thin branch at full size adds detail. The branch starts at zero, so a
    trunk that was trained alone on small images can initialize a whole network.

    The names of the layers are keys of the weights, also in the exported graph (shipped.py).
    """

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        b, fine, steps = preset.width, preset.fine, preset.steps
        self.steps = steps
        self.stem = nn.Conv2d(6, b, 4, 2, 1)
        self.level0, self.level1 = Block(b, b), Block(b, 2 * b, 2)
        self.level2, self.level3 = Block(2 * b, 3 * b, 2), Block(3 * b, 4 * b, 2)
        self.middle = nn.Sequential(Block(4 * b, 4 * b), Attention(4 * b), Block(4 * b, 4 * b))
        self.up2, self.look_around = Block(7 * b, 3 * b), Attention(3 * b)
        self.transformer = Transformer(
            3 * b, preset.sizes.columns // 8, preset.layer_width, preset.layers, preset.patch
        )
        self.up1, self.up0 = Block(5 * b, 2 * b), Block(3 * b, 2 * b)
        self.head = nn.Conv2d(2 * b, 4 * (1 + steps), 1)
        self.fine = nn.Conv2d(6, fine, 4, 2, 1)
        self.fine_in = nn.Conv2d(fine, b, 4, 2, 1)
        self.fine_out = nn.Conv2d(4 * fine, 4 * (1 + steps), 1)
        self.colour = nn.Conv2d(2 * b + 4 * fine, 4 * 3, 1)
        self.look = nn.Sequential(nn.Linear(4 * b, 64), nn.SiLU(), nn.Linear(64, 1))
        for layer in (self.fine_in, self.fine_out):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The outputs that the class describes."""
        pixels = torch.cat([image[:, :3] * 2 - 1, image[:, 3:]], 1)
        fine = F.silu(self.fine(with_coordinates(pixels)))
        x0 = self.level0(self.stem(with_coordinates(F.avg_pool2d(pixels, 2))) + self.fine_in(fine))
        x1 = self.level1(x0)
        x2 = self.level2(x1)
        x3 = self.middle(self.level3(x2))
        x = self.transformer(self.look_around(self.up2(torch.cat([doubled(x3), x2], 1))))
        x = self.up1(torch.cat([doubled(x), x1], 1))
        x = self.up0(torch.cat([doubled(x), x0], 1))
        detail = F.pixel_unshuffle(fine, 2)
        y = F.pixel_shuffle(self.head(x) + self.fine_out(detail), 2)
        color = F.pixel_shuffle(self.colour(torch.cat([x, detail], 1)), 2)
        return y[:, 0], y[:, 1:], color, self.look(x3.mean((2, 3)))[:, 0]


def with_coordinates(pixels: torch.Tensor) -> torch.Tensor:
    """Adds the position of each pixel in the frame, -1 to 1 from the left and from the top."""
    b, _, h, w = pixels.shape
    across = torch.linspace(-1, 1, w, device=pixels.device, dtype=pixels.dtype)[None, None, None, :].expand(b, 1, h, w)
    down = torch.linspace(-1, 1, h, device=pixels.device, dtype=pixels.dtype)[None, None, :, None].expand(b, 1, h, w)
    return torch.cat([pixels, across, down], 1)


def build(preset: Preset) -> Columns:
    """The untrained network of a preset."""
    return Columns(preset)
