"""Makes one model with TripoSR's reference pipeline on the CPU, for `node models/lab/bench.mjs triposr`.

    python3 models/lab/exporters/triposr/time_reference.py REFERENCE CHECKPOINT PHOTO --resolution 256

Follows its run.py for a cut-out photo: crop and gray background, encode, densities on the whole grid, marching cubes,
colors at the vertices, a GLB. Measures the second of two models. Prints the same JSON as scripts/bench/engine-run.mjs.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from reference import THRESHOLD, load_reference


def peak() -> int:
    """The peak memory in MB since the last `reset`. Both work on Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024)
    raise SystemExit("VmHWM is not in /proc/self/status")


def reset() -> None:
    """Sets the peak to the present memory."""
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Makes two models and prints the figures of the second."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("reference", type=Path, help="a clone of TripoSR")
    parser.add_argument("checkpoint", type=Path, help="folder with model.ckpt, config.yaml and vision.json")
    parser.add_argument("photo", type=Path, help="cut out: with an alpha channel")
    parser.add_argument("--resolution", type=int, default=256, help="as run.py's --mc-resolution")
    args = parser.parse_args()
    sys.path.insert(0, str(args.reference))

    begun = time.perf_counter()
    model = load_reference(args.checkpoint)
    from tsr.utils import resize_foreground

    load, before, stages = time.perf_counter() - begun, peak(), {}

    @contextlib.contextmanager
    def stage(name: str) -> Iterator[None]:
        reset()
        start = time.perf_counter()
        yield
        stages[name] = {"seconds": time.perf_counter() - start, "megabytes": peak()}

    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            started = time.perf_counter()
            with stage("frame"):
                image = (
                    np.array(resize_foreground(Image.open(args.photo).convert("RGBA"), 0.85)).astype(np.float32) / 255
                )
                image = image[..., :3] * image[..., 3:] + (1 - image[..., 3:]) * 0.5
                photo = Image.fromarray((image * 255).astype(np.uint8))
            with stage("encode"):
                codes = model([photo], "cpu")
            with stage("field"):
                mesh = model.extract_mesh(codes, True, args.resolution, THRESHOLD)[0]
            with stage("write"):
                mesh.export(Path(folder) / "mesh.glb")
            total = time.perf_counter() - started
    peaks = [before, *(found["megabytes"] for found in stages.values())]
    print(
        json.dumps({"load": load, "total": total, "stages": stages, "peak": max(peaks), "triangles": len(mesh.faces)})
    )


main()
