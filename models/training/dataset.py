"""Samples from shards on disk, and what happens to them on the way into the network."""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from photograph import NONE


class Shards:
    """All finished shards of some folders but `skip`, or `only` one, memory-mapped. `refresh` finds those written since."""

    def __init__(self, *folders, skip=None, only=None):
        self.folders, self.skip, self.only, self.known, self.parts, self.index = [Path(f) for f in folders], skip, only, set(), [], []
        self.refresh()

    def refresh(self):
        for shard in sorted(shard for folder in self.folders for shard in folder.iterdir()):
            unwanted = shard.name == self.skip or (self.only and shard.name != self.only)
            if shard.suffix or shard in self.known or unwanted:
                continue
            self.known.add(shard)
            part = {key: np.load(shard / f"{key}.npy", mmap_mode="r") for key in ("photos", "crossings", "backs", "elevations")}
            self.index += [(len(self.parts), k) for k in range(len(part["photos"]))]
            self.parts.append(part)

    def __len__(self):
        return len(self.index)

    def batch(self, rng, size):
        return self.take(rng.integers(len(self.index), size=size))

    def take(self, which):
        """-> photos [B,4,S,S] 0..1, crossings [B,8,C,C] depth 0..1 or infinity, backs [B,3,C,C] 0..1, elevations [B]"""
        chosen = [self.index[i] for i in which]
        get = lambda key: torch.from_numpy(np.stack([self.parts[p][key][k] for p, k in chosen]))  # noqa: E731
        crossings = get("crossings").to(torch.int32)
        depths = torch.where(crossings == NONE, torch.inf, crossings.float() / (NONE - 1))
        return get("photos").float() / 255, depths, get("backs").float() / 255, get("elevations")


def chance(probability, count, device):
    return (torch.rand(count, 1, 1, 1, device=device) < probability).float()


def disturb(photos):
    """What cameras and the matting network do to a clean cut-out. photos [B,4,S,S] straight alpha -> the network's input [B,4,S,S].

    The matte is shrunk, grown, blurred or loses a bite at its edge, and what then shows of the old background is mixed in.
    """
    b, device = len(photos), photos.device
    rand = lambda low, high, channels=1: torch.rand(b, channels, 1, 1, device=device) * (high - low) + low  # noqa: E731
    rgb, alpha = photos[:, :3], photos[:, 3:]
    backdrop = torch.rand(b, 3, 1, 1, device=device)
    full = rgb * alpha + backdrop * (1 - alpha)
    full = (full - 0.5) * rand(0.7, 1.25) + 0.5
    full = full * rand(0.88, 1.12, 3) + rand(-0.06, 0.06)
    blurred = F.avg_pool2d(F.pad(full, (1, 1, 1, 1), mode="replicate"), 3, 1)
    soft = chance(0.4, b, device) * rand(0, 1)
    full = full * (1 - soft) + blurred * soft
    full = full + torch.randn_like(full) * rand(0, 0.03) * chance(0.5, b, device)
    scale = photos.shape[-1] // 64
    matte = alpha
    grown = F.max_pool2d(matte, 2 * scale - 1, 1, scale - 1)
    shrunk = 1 - F.max_pool2d(1 - matte, 2 * scale - 1, 1, scale - 1)
    style = torch.rand(b, 1, 1, 1, device=device)
    matte = torch.where(style < 0.1, grown, torch.where(style < 0.18, shrunk, matte))
    # Bites: a smooth random field eats where the matte is not deep inside.
    noise = F.interpolate(torch.randn(b, 1, 8, 8, device=device), size=matte.shape[-2:], mode="bicubic", align_corners=False)
    inner = 1 - F.max_pool2d(1 - alpha, 8 * scale + 1, 1, 4 * scale)
    bitten = matte * (1 - ((noise > 1.7) & (inner < 0.5)).float())
    matte = torch.where(torch.rand(b, 1, 1, 1, device=device) < 0.08, bitten, matte)
    smooth = F.avg_pool2d(F.pad(matte, (1, 1, 1, 1), mode="replicate"), 3, 1)
    matte = torch.where(torch.rand(b, 1, 1, 1, device=device) < 0.5, smooth, matte)
    return torch.cat([full.clamp(0, 1) * matte + 0.5 * (1 - matte), matte], 1)


def mirror(photos, crossings, backs):
    """Half of the samples, from right to left."""
    flip = torch.rand(len(photos), device=photos.device) < 0.5
    pick = lambda a: torch.where(flip[:, None, None, None], a.flip(-1), a)  # noqa: E731
    return pick(photos), pick(crossings), pick(backs)


def targets(crossings, steps):
    """What the network should say of columns [B,8,C,C].

    -> front [B,C,C] in -1..1, there [B,C,C] 1 where the column meets the thing, occupancy [B,steps,C,C]: the part of
    [k-1/2, k+1/2] steps behind the front that is inside
    """
    front = crossings[:, 0]
    there = torch.isfinite(front)
    start = torch.where(there, front, 0)
    middle = torch.arange(steps, device=crossings.device, dtype=crossings.dtype)[None, :, None, None]
    occupancy = torch.zeros(len(crossings), steps, *crossings.shape[2:], device=crossings.device)
    for enter, leave in zip(crossings[:, 0::2].unbind(1), crossings[:, 1::2].unbind(1)):
        a, b = ((end.clamp(max=2) - start) * steps for end in (enter, leave))
        a, b = a.unsqueeze(1), b.unsqueeze(1)
        filled = torch.minimum(b, middle + 0.5) - torch.maximum(a, middle - 0.5)
        occupancy += torch.where(torch.isfinite(enter).unsqueeze(1), filled.clamp(min=0), 0)
    return start * 2 - 1, there.float(), occupancy.clamp(max=1)
