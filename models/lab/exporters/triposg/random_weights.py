"""Weights from a formula instead of a training run, for tests and comparisons.

packages/weights/src/skeleton/flow-model.fixture.ts has the same formula, so no weights need to be stored.
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def noise(name: str, count: int) -> np.ndarray:
    """Numbers in -1 to 1 [count], float64, which depend on the name. The hash is the finalizer of MurmurHash3."""
    seed = 2_166_136_261
    for byte in name.encode():
        seed = ((seed ^ byte) * 16_777_619) & 0xFFFF_FFFF
    x = np.arange(count, dtype=np.uint32) * np.uint32(2_654_435_769) + np.uint32(seed)
    for shift, factor in ((16, 0x85EB_CA6B), (13, 0xC2B2_AE35)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    x ^= x >> np.uint32(16)
    return x / 2**31 - 1


def weight(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """A tensor that keeps the size of its layer's values about as it is, float32."""
    values = noise(name, int(np.prod(shape))).reshape(shape)
    if name.endswith(".bias"):
        values *= 0.1
    elif len(shape) == 1:
        values = 1 + 0.1 * values
    elif name.endswith(".weight"):
        values *= np.sqrt(3 / np.prod(shape[1:]))
    return values.astype(np.float32)


def write_checkpoint(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Writes a safetensors file like the published ones, one tensor at a time."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name in sorted(shapes):
        start, end = end, end + 4 * int(np.prod(shapes[name]))
        header[name] = {"dtype": "F32", "shape": list(shapes[name]), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text = text.ljust(-(-len(text) // 8) * 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(shapes):
            file.write(weight(name, shapes[name]).tobytes())
