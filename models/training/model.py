"""The network: a U-Net from a framed cut-out to columns. See DESIGN.md section 5, decoder kind `columns`."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Two convolutions with a way around them (He et al. 2016, pre-activation)."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.around = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        return self.around(x) + self.conv2(F.silu(self.norm2(self.conv1(F.silu(self.norm1(x))))))


class Attention(nn.Module):
    """Self-attention over all pixels: what a chair's far leg looks like is seen on the near one."""

    def __init__(self, channels, heads=8):
        super().__init__()
        self.heads = heads
        self.norm, self.project, self.out = nn.GroupNorm(8, channels), nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.project(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).transpose(-1, -2).unbind(1)
        weights = (q @ k.transpose(-1, -2) * (c // self.heads) ** -0.5).softmax(-1)
        return x + self.out((weights @ v).transpose(-1, -2).reshape(b, c, h, w))


def doubled(x):
    """Each pixel four times. Not F.interpolate: its gradient is zero under torch.compile on a CPU in bfloat16 (PyTorch 2.13)."""
    b, c, h, w = x.shape
    return x[:, :, :, None, :, None].expand(b, c, h, 2, w, 2).reshape(b, c, 2 * h, 2 * w)


class Columns(nn.Module):
    """
    image [B,4,S,S]: RGB in 0..1 on grey 0.5, and the matte
    -> front_depth [B,S/2,S/2]: of the surface first hit, -1 (near face of the box) .. 1 (far face)
       occupancy [B,steps,S/2,S/2]: logits of how full the column is within half a step of k steps behind the front
       back_color [B,3,S/2,S/2]: of the surface last left, logits of 0..1
       elevation [B]: radians that the camera looked down
    """

    def __init__(self, steps, widths, depths):
        super().__init__()
        fine, middle, coarse = widths
        edge = fine // 2
        self.steps = steps
        self.edges = nn.Conv2d(6, edge, 4, 2, 1)
        self.down0 = nn.Conv2d(edge, fine, 3, 2, 1)
        self.level0 = nn.Sequential(*(Block(fine, fine) for _ in range(depths[0])))
        self.down1 = nn.Conv2d(fine, middle, 3, 2, 1)
        self.level1 = nn.Sequential(*(Block(middle, middle) for _ in range(depths[1])), Attention(middle))
        self.down2 = nn.Conv2d(middle, coarse, 3, 2, 1)
        self.level2 = nn.Sequential(*(nn.Sequential(Block(coarse, coarse), Attention(coarse)) for _ in range(depths[2])))
        self.up1 = nn.Sequential(Block(coarse + middle, middle), Attention(middle), Block(middle, middle))
        self.up0 = nn.Sequential(Block(middle + fine + 4 * edge, 2 * fine), Block(2 * fine, 2 * fine))
        self.head = nn.Conv2d(2 * fine, 4 * (1 + steps + 3), 1)
        self.look = nn.Linear(coarse, 1)
        # Columns start nearly empty behind a front in the middle of the box, which most are.
        nn.init.zeros_(self.head.bias)

    def forward(self, image):
        b, _, h, w = image.shape
        rows = torch.linspace(-1, 1, h, device=image.device, dtype=image.dtype)[None, None, :, None].expand(b, 1, h, w)
        columns = torch.linspace(-1, 1, w, device=image.device, dtype=image.dtype)[None, None, None, :].expand(b, 1, h, w)
        edges = F.silu(self.edges(torch.cat([image[:, :3] * 2 - 1, image[:, 3:], rows, columns], 1)))
        x0 = self.level0(self.down0(edges))
        x1 = self.level1(self.down1(x0))
        x2 = self.level2(self.down2(x1))
        x = self.up1(torch.cat([doubled(x2), x1], 1))
        x = self.up0(torch.cat([doubled(x), x0, F.pixel_unshuffle(edges, 2)], 1))
        y = F.pixel_shuffle(self.head(F.silu(x)), 2)
        elevation = self.look(x2.mean((2, 3)))[:, 0]
        return y[:, 0], y[:, 1 : 1 + self.steps], y[:, 1 + self.steps :], elevation


def build(preset):
    return Columns(preset.steps, preset.widths, preset.depths)
