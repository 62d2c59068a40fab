"""Reads samples from shards on disk, and prepares them as inputs and targets of the network."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from photograph import CROSSINGS, NONE, Sizes

# Photos [B,4,S,S] in 0 to 1, crossings [B,8,C,C] as depths in 0 to 1 or infinity, backs [B,3,C,C] in 0 to 1, and
# elevations [B].
KEYS = ("photos", "crossings", "backs", "elevations")
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


class Shards:
    """All finished shards of some folders, except `skip`, or `only` one of them. Memory-mapped."""

    def __init__(self, *folders: str | Path, skip: str | None = None, only: str | None = None) -> None:
        self.folders, self.skip, self.only, self.known, self.parts, self.index = (
            [Path(f) for f in folders],
            skip,
            only,
            set(),
            [],
            [],
        )
        # Positions in `index`: of samples that show procedural shapes, and of samples that show meshes.
        self.by_kind: tuple[list[int], list[int]] = ([], [])
        self.refresh()

    def refresh(self) -> None:
        """Finds the shards that were written since the last call."""
        for shard in sorted(shard for folder in self.folders for shard in folder.iterdir()):
            unwanted = shard.name == self.skip or (self.only and shard.name != self.only)
            if shard.suffix or shard in self.known or unwanted:
                continue
            self.known.add(shard)
            part = {key: np.load(shard / f"{key}.npy", mmap_mode="r") for key in KEYS}
            self.parts.append(part)
            # The names of meshes include a folder.
            for k, name in enumerate((shard / "names.txt").read_text().splitlines()):
                self.by_kind["/" in name].append(len(self.index))
                self.index.append((len(self.parts) - 1, k))

    def __len__(self) -> int:
        return len(self.index)

    def batch(self, rng: np.random.Generator, size: int, mesh_share: float | None = None) -> Batch:
        """Draws a batch in which about this share of the samples shows meshes. By default, the share in the shards."""
        if mesh_share is None:
            return self.take(rng.integers(len(self.index), size=size))
        kinds = (rng.random(size) < mesh_share).astype(int)
        return self.take([self.by_kind[kind][rng.integers(len(self.by_kind[kind]))] for kind in kinds])

    def take(self, which: Sequence[int]) -> Batch:
        """The samples with these indices."""
        chosen = [self.index[i] for i in which]
        return decoded(*(torch.from_numpy(np.stack([self.parts[p][key][k] for p, k in chosen])) for key in KEYS))


def decoded(photos: torch.Tensor, crossings: torch.Tensor, backs: torch.Tensor, elevations: torch.Tensor) -> Batch:
    """The batch of samples as shards contain them. The crossings may be in signed integers with the same bits."""
    whole = crossings.to(torch.int32) & 0xFFFF
    depths = torch.where(whole == NONE, torch.inf, whole.float() / (NONE - 1))
    return photos.float() / 255, depths, backs.float() / 255, elevations


class Resident:
    """The latest samples of a folder, in the memory of the device. A shard is deleted once it is read.

    A GPU takes samples far faster than one process reads them from files, and than sixteen render them, so each is
    used many times before newer ones take its place.
    """

    def __init__(self, folder: str | Path, capacity: int, device: torch.device, sizes: Sizes) -> None:
        self.folder, self.capacity, self.read = Path(folder), capacity, 0
        columns = (sizes.columns, sizes.columns)
        self.samples = {
            "photos": torch.empty(capacity, 4, sizes.photo, sizes.photo, dtype=torch.uint8, device=device),
            "crossings": torch.empty(capacity, CROSSINGS, *columns, dtype=torch.int16, device=device),
            "backs": torch.empty(capacity, 3, *columns, dtype=torch.uint8, device=device),
            "elevations": torch.empty(capacity, device=device),
        }

    def refresh(self) -> None:
        """Reads some of the shards that were written since the last call: a few, so that training does not wait."""
        for shard in sorted(p for p in self.folder.iterdir() if not p.suffix)[:8]:
            arrays = {key: np.load(shard / f"{key}.npy") for key in KEYS}
            # Few operations accept unsigned integers of 16 bits.
            arrays["crossings"] = arrays["crossings"].view(np.int16)
            slots = (torch.arange(len(arrays["photos"])) + self.read) % self.capacity
            for key, values in self.samples.items():
                values[slots.to(values.device)] = torch.from_numpy(arrays[key]).to(values.device)
            self.read += len(slots)
            shutil.rmtree(shard)

    def __len__(self) -> int:
        return self.read

    def batch(self, rng: np.random.Generator, size: int, mesh_share: None = None) -> Batch:
        """Draws a batch of the latest samples."""
        which = torch.from_numpy(rng.integers(min(self.read, self.capacity), size=size))
        return decoded(*(values[which.to(values.device)] for values in self.samples.values()))


def chance(probability: float, count: int, device: torch.device) -> torch.Tensor:
    """1 with this probability, else 0. -> [count,1,1,1]"""
    return (torch.rand(count, 1, 1, 1, device=device) < probability).float()


def disturb(photos: torch.Tensor) -> torch.Tensor:
    """Simulates the errors of cameras and of the matting network on clean cutouts.

    The matte is shrunk, grown, blurred or loses bits of its edge, and the old background shows through. photos
    [B,4,S,S] straight alpha -> the network's input [B,4,S,S]
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
    # Bits of the edge are lost where a smooth random field is high, except deep inside the matte.
    noise = F.interpolate(
        torch.randn(b, 1, 8, 8, device=device), size=matte.shape[-2:], mode="bicubic", align_corners=False
    )
    inner = 1 - F.max_pool2d(1 - alpha, 8 * scale + 1, 1, 4 * scale)
    bitten = matte * (1 - ((noise > 1.7) & (inner < 0.5)).float())
    matte = torch.where(torch.rand(b, 1, 1, 1, device=device) < 0.08, bitten, matte)
    smooth = F.avg_pool2d(F.pad(matte, (1, 1, 1, 1), mode="replicate"), 3, 1)
    matte = torch.where(torch.rand(b, 1, 1, 1, device=device) < 0.5, smooth, matte)
    return torch.cat([full.clamp(0, 1) * matte + 0.5 * (1 - matte), matte], 1)


def mirror(
    photos: torch.Tensor, crossings: torch.Tensor, backs: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mirrors half of the samples from right to left."""
    flip = torch.rand(len(photos), device=photos.device) < 0.5
    pick = lambda a: torch.where(flip[:, None, None, None], a.flip(-1), a)  # noqa: E731
    return pick(photos), pick(crossings), pick(backs)


def targets(crossings: torch.Tensor, steps: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The targets of the network for columns [B,8,C,C].

    -> front [B,C,C] in -1 to 1; hit [B,C,C], 1 where the column meets the object; occupancy [B,steps,C,C], the part of
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
