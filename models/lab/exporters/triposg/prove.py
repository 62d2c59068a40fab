"""Proves that `gen3d models pull` turns TripoSG's checkpoints into graphs with the results of PyTorch.

    pip install torch==2.13.0 onnx==1.23.1 numpy
    npm run setup && npm run build && python3 models/lab/exporters/triposg/prove.py FOLDER --size full

Needs no published weights. Instead, it writes checkpoints with weights from a formula (random_weights.py) in the
published layout, pulls them, and runs each graph on the CPU. PyTorch (network.py) gets the same inputs. It
compares the image's tokens, the latents after one step, and the field at 10,000 points. At the published size, it needs
24 GB of disk and 16 GB of memory, because only one network is in memory at a time.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from network import Autoencoder, Flow, ImageEncoder
from random_weights import noise, write_checkpoint
from sizes import SIZES, Size

HERE = Path(__file__).parent
ROOT = HERE.parents[3]
POINTS = 10_000
# A step of 1, because the velocity must not be small compared with the latents.
TIMESTEP, STEP_SIZE, GUIDANCE = 950.0, 1.0, 7.0
NETWORKS = {"image_encoder": ImageEncoder, "transformer": Flow, "vae": Autoencoder}


def build(name: str, size: Size, checkpoint: Path | None) -> torch.nn.Module:
    """A network without weights, or with those of a checkpoint, which are read when they are used."""
    with torch.device("meta"):
        network = NETWORKS[name](size)
    if checkpoint:
        with checkpoint.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        state = {}
        for tensor in network.state_dict():
            entry = header[tensor]
            start = 8 + length + entry["data_offsets"][0]
            values = np.memmap(checkpoint, np.float32, "c", start, tuple(entry["shape"]))
            state[tensor] = torch.from_numpy(values)
        network.load_state_dict(state, assign=True)
    return network.eval()


@torch.no_grad()
def expect(name: str, size: Size, checkpoint: Path, folder: Path) -> float:
    """Computes the results of a network with PyTorch. Returns the seconds."""

    def read(file: str, *shape: int) -> torch.Tensor:
        return torch.from_numpy(np.fromfile(folder / file, np.float32)).reshape(shape)

    network = build(name, size, checkpoint)
    latents_shape = (1, size.latent_tokens, size.latent_channels)
    start = time.perf_counter()
    if name == "image_encoder":
        found = network(read("image", 1, 3, size.image_size, size.image_size))
    elif name == "transformer":
        tokens = read("tokens", 1, size.image_tokens, size.vision_channels)
        found = network.step(read("latents", *latents_shape), tokens, TIMESTEP, STEP_SIZE, GUIDANCE)
    else:
        found = network.density(network.decode(read("latents", *latents_shape)), read("points", 1, POINTS, 3))
    found.numpy().tofile(folder / f"expected-{name}")
    return time.perf_counter() - start


class Catalog:
    """The shipped catalog's TripoSG with other checkpoints and size, as a bundle called triposg-random."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        size = SIZES[name]
        skeleton = folder / "skeletons/triposg"
        subprocess.run([sys.executable, HERE / "export.py", skeleton, "--size", name], check=True)
        shutil.copy(ROOT / "models/skeletons/triposg/NOTICE.md", skeleton)
        shipped = json.loads((ROOT / "models/catalog.json").read_text())["bundles"]
        entry = next(bundle for bundle in shipped if bundle["manifest"]["name"] == "triposg")
        manifest = entry["manifest"]
        manifest["name"] = "triposg-random"
        manifest["input"]["size"] = size.image_size
        manifest["decoder"].update(tokens=size.latent_tokens, channels=size.latent_channels)
        self.paths = {}
        for file in manifest["files"]:
            network = file["name"].removesuffix(".safetensors")
            path = folder / "published" / entry["urls"][file["name"]].split("/resolve/")[1].split("/", 1)[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            shapes = {tensor: tuple(value.shape) for tensor, value in build(network, size, None).state_dict().items()}
            if not path.exists():
                write_checkpoint(path, shapes)
            with path.open("rb") as opened:
                file.update(size=path.stat().st_size, sha256=hashlib.file_digest(opened, "sha256").hexdigest())
            self.paths[network] = path
        (folder / "catalog.json").write_text(json.dumps({"formatVersion": 1, "bundles": [entry]}))

    def pull(self, precision: str) -> Path:
        """Pulls the bundle and returns its folder."""
        data = self.folder / f"data-{precision}"
        settings = {"GEN3D_MODELS_DIR": str(self.folder), "GEN3D_DATA_DIR": str(data), "GEN3D_DEVICE": "cpu"}
        command = ["node", ROOT / "packages/cli/bin/gen3d.js", "models", "pull", "triposg-random"]
        start = time.perf_counter()
        options = ["--from", self.folder / "published", "--precision", precision]
        subprocess.run([*command, *options], check=True, env={**os.environ, **settings})
        print(f"{precision}: pulled and tested in {time.perf_counter() - start:.0f} s", flush=True)
        return data / "models/triposg-random"


def run(bundle: Path, graph: str, output: str, inputs: dict[str, tuple[str, list[int]]], folder: Path) -> np.ndarray:
    """Runs a graph with the engine and returns its output."""
    out = folder / f"found-{output}"
    described = {name: {"file": str(folder / file), "shape": shape} for name, (file, shape) in inputs.items()}
    job = {"bundle": str(bundle), "graph": f"{graph}.onnx", "inputs": described, "output": output, "out": str(out)}
    (folder / "job.json").write_text(json.dumps(job))
    command = ["node", HERE / "run-graph.mjs", folder / "job.json"]
    process = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    print(f"  {graph}: {', '.join(process.stdout.splitlines())}", flush=True)
    return np.fromfile(out, np.float32)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """The norm of the difference relative to the norm of the expected values."""
    return float(np.linalg.norm(found.astype(np.float64) - expected) / np.linalg.norm(expected.astype(np.float64)))


def main() -> None:
    """Pulls each precision and prints its errors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="for checkpoints and bundles; kept")
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--precision", choices=["fp32", "fp16"], nargs="+", default=["fp32", "fp16"])
    args = parser.parse_args()
    size, folder = SIZES[args.size], args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    catalog = Catalog(folder, args.size)

    image = [1, 3, size.image_size, size.image_size]
    latents = [1, size.latent_tokens, size.latent_channels]
    tokens = [1, size.image_tokens, size.vision_channels]
    for name, shape in {"image": image, "latents": latents, "points": [1, POINTS, 3]}.items():
        noise(name, int(np.prod(shape))).astype(np.float32).tofile(folder / name)
    for name, value in {"timestep": TIMESTEP, "step_size": STEP_SIZE, "guidance": GUIDANCE}.items():
        np.float32([value]).tofile(folder / name)
    scalars = {name: (name, [1]) for name in ("timestep", "step_size", "guidance")}
    for name, path in catalog.paths.items():
        # In a separate process, which frees the memory when it ends.
        with get_context("spawn").Pool(1) as pool:
            print(f"  PyTorch, {name}: {pool.apply(expect, (name, size, path, folder)):.1f} s", flush=True)
        if name == "image_encoder":
            shutil.copy(folder / "expected-image_encoder", folder / "tokens")

    for precision in args.precision:
        bundle = catalog.pull(precision)
        found = {
            "image_encoder": run(bundle, "encoder", "image_tokens", {"image": ("image", image)}, folder),
            "transformer": run(
                bundle,
                "step",
                "next_latents",
                {"latents": ("latents", latents), "image_tokens": ("tokens", tokens), **scalars},
                folder,
            ),
        }
        run(bundle, "latents", "scene_codes", {"latents": ("latents", latents)}, folder)
        codes = [1, size.latent_tokens, 2 * size.shape_channels]
        inputs = {"scene_codes": ("found-scene_codes", codes), "points": ("points", [1, POINTS, 3])}
        found["vae"] = run(bundle, "points", "density", inputs, folder)
        errors = {name: relative(found[name], np.fromfile(folder / f"expected-{name}", np.float32)) for name in found}
        print(f"{precision}: {', '.join(f'{name} {error:.1e}' for name, error in errors.items())}", flush=True)
        if precision == "fp32" and max(errors.values()) > 1e-4:
            sys.exit("The results differ")


if __name__ == "__main__":
    main()
