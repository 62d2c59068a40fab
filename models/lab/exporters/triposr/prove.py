"""Proves that `gen3d models pull` turns TripoSR's checkpoint into a bundle with the results of the reference.

    git clone https://github.com/VAST-AI-Research/TripoSR reference
    pip install torch==2.13.0 onnx==1.23.1 numpy pyyaml \\
        transformers==5.18.0 einops imageio trimesh scikit-image scipy
    npm run setup && npm run build && python3 models/lab/exporters/triposr/prove.py reference --size full

Needs no published weights: it builds the reference with random weights (fixed seed), saves them with PyTorch under the
published tensor names, serves them over HTTP on loopback, pulls them in every precision and runs each bundle on a photo
with run-bundle.mjs. It compares the scene codes, and the densities and colors at random points, with PyTorch's, and the
surface with the reference's mesh (scikit-image's marching cubes in place of torchmcubes).

The weights are random; only the last layers are fitted, to get a surface (see fit_object).
"""

import argparse
import contextlib
import functools
import hashlib
import http.server
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from reference import RADIUS, SIZES, THRESHOLD, build_reference

HERE = Path(__file__).parent
ROOT = HERE.parents[3]
PRECISIONS = ["fp32", "fp16"]


def to_triangles(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """The distance of each point to the nearest of the 24 triangles with the nearest centers: an upper bound."""
    corners = vertices[faces]
    _, near = cKDTree(corners.mean(axis=1)).query(points, k=24, workers=-1)
    best = np.full(len(points), np.inf)
    for column in near.T:
        a, b, c = corners[column].transpose(1, 0, 2)
        best = np.minimum(best, triangle_distance(points, a, b, c))
    return best


def triangle_distance(p: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The distance to the plane if the foot of the perpendicular is inside, else to the nearest edge."""

    def dot(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (u * v).sum(axis=1)

    def to_edge(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        t = np.clip(dot(p - u, v - u) / np.maximum(dot(v - u, v - u), 1e-30), 0, 1)
        return np.linalg.norm(p - u - t[:, None] * (v - u), axis=1)

    normal = np.cross(b - a, c - a)
    length = np.maximum(np.linalg.norm(normal, axis=1), 1e-30)
    sides = [dot(np.cross(v - u, p - u), normal) for u, v in ((a, b), (b, c), (c, a))]
    inside = np.all(np.stack(sides) >= 0, axis=0)
    edges = np.minimum(np.minimum(to_edge(a, b), to_edge(b, c)), to_edge(c, a))
    return np.where(inside, np.abs(dot(p - a, normal)) / length, edges)


def from_camera(points: np.ndarray) -> np.ndarray:
    """Camera space (x right, y up, z to the camera) to the reference's box: x to the camera, y right, z up."""
    return points[..., [2, 0, 1]]


def without_small_parts(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drops parts with less than a hundredth of the triangles of the largest.

    The engine skips parts of a single sample and drops other small ones.
    """
    edges = faces[:, [0, 1]].T
    others = faces[:, [1, 2]].T
    rows, columns = np.concatenate([edges, others], axis=1)
    graph = coo_matrix((np.ones(len(rows), bool), (rows, columns)), (len(vertices), len(vertices)))
    part = connected_components(graph, directed=False)[1][faces[:, 0]]
    sizes = np.bincount(part)
    kept = faces[sizes[part] >= sizes.max() / 100]
    used, faces = np.unique(kept, return_inverse=True)
    return vertices[used], faces.reshape(-1, 3)


def surface_distance(mesh: tuple, expected_mesh: tuple, cell: float) -> float:
    """The symmetric Hausdorff distance in cells.

    Leaves out the faces of the box: only the engine's mesh is closed there.
    """

    def inside(vertices: np.ndarray) -> np.ndarray:
        return vertices[np.abs(vertices).max(axis=1) < RADIUS - 1.5 * cell]

    (v, f), (w, g) = without_small_parts(*mesh), without_small_parts(*expected_mesh)
    return max(to_triangles(inside(v), w, g).max(), to_triangles(inside(w), v, f).max()) / cell


def relative(found: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """The norm of the difference relative to the norm of the expected values; the same with maxima."""
    difference = found.astype(np.float64) - expected
    return (
        float(np.linalg.norm(difference) / np.linalg.norm(expected)),
        float(np.abs(difference).max() / np.abs(expected).max()),
    )


class Run:
    """The files and figures of one run of run-bundle.mjs."""

    def __init__(self, bundle: Path, photo: Path, points: Path, out: Path, *surface: object) -> None:
        out.mkdir()
        command = ["node", HERE / "run-bundle.mjs", bundle, photo, points, out, *surface]
        process = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, cwd=ROOT)
        self.figures = dict(line.split() for line in process.stdout.splitlines())
        self.out = out

    def read(self, name: str, *shape: int, dtype: type = np.float32) -> np.ndarray:
        """Reads an output."""
        return np.fromfile(self.out / name, dtype).reshape(shape)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files without logging."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


class Catalog:
    """The shipped catalog's TripoSR with another checkpoint and size, as a bundle called triposr-random."""

    def __init__(self, folder: Path, size: str, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        skeleton = folder / "skeletons/triposr"
        subprocess.run([sys.executable, HERE / "export.py", skeleton, "--size", size], check=True)
        shutil.copy(ROOT / "models/skeletons/triposr/NOTICE.md", skeleton)
        shipped = json.loads((ROOT / "models/catalog.json").read_text())["bundles"]
        entry = next(bundle for bundle in shipped if bundle["manifest"]["name"] == "triposr")
        checkpoint = folder / "model.ckpt"
        with checkpoint.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        entry["manifest"]["name"] = "triposr-random"
        entry["manifest"]["files"] = [{"name": "model.ckpt", "size": checkpoint.stat().st_size, "sha256": digest}]
        entry["manifest"]["decoder"]["planeSize"] = 2 * SIZES[size].plane_size
        handler = functools.partial(Handler, directory=folder)
        server = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        entry["urls"] = {"model.ckpt": f"http://127.0.0.1:{server.server_port}/model.ckpt"}
        (folder / "catalog.json").write_text(json.dumps({"formatVersion": 1, "bundles": [entry]}))

    def pull(self, precision: str) -> Path:
        """Pulls the bundle and returns its folder. The command finds only Node on its PATH: no Python."""
        data = self.folder / f"data-{precision}"
        node = Path(shutil.which("node") or sys.exit("node is not on the PATH"))
        environment = {
            "HOME": str(data),
            "PATH": str(node.parent) if not (node.parent / "python3").exists() else "",
            "GEN3D_MODELS_DIR": str(self.folder),
            "GEN3D_DATA_DIR": str(data),
        }
        command = [
            node,
            ROOT / "packages/cli/bin/gen3d.js",
            "models",
            "pull",
            "triposr-random",
            "--precision",
            precision,
        ]
        start = time.perf_counter()
        subprocess.run(command, check=True, env=environment)
        print(f"pulled and tested in {time.perf_counter() - start:.1f} s")
        return data / "models/triposr-random"


def main() -> None:
    """Pulls each precision and prints its errors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("reference", type=Path, help="a clone of TripoSR")
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument(
        "--resolution", type=int, default=128, help="cells of the grid whose surfaces are compared; even"
    )
    parser.add_argument("--photo", type=Path, default=ROOT / "examples/photos/toy-truck.png")
    parser.add_argument("--keep", type=Path, help="keep the checkpoint and the bundles in this new folder")
    args = parser.parse_args()
    sys.path.insert(0, str(args.reference))

    with contextlib.ExitStack() as stack, torch.no_grad():
        if args.keep:
            args.keep.mkdir(parents=True)
        folder = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prove-triposr-")))
        model = build_reference(folder, args.size)
        rng = np.random.default_rng(0)
        in_camera = rng.uniform(-RADIUS, RADIUS, (200_000, 3)).astype(np.float32)
        in_camera.tofile(folder / "points")
        points = torch.from_numpy(np.ascontiguousarray(from_camera(in_camera)))
        expected = None
        print(f"{args.size}: {sum(p.numel() for p in model.parameters()) / 1e6:.0f} M parameters")

        catalog = Catalog(folder, args.size, stack)
        for precision in PRECISIONS:
            bundle = catalog.pull(precision)
            size = sum(file.stat().st_size for file in bundle.iterdir()) / 1e6

            if expected is None:
                first = Run(bundle, args.photo, folder / "points", folder / "first")
                image = torch.from_numpy(first.read("input.f32", 3, 512, 512)).permute(1, 2, 0).contiguous()
                start = time.perf_counter()
                codes = model([image], "cpu")
                print(f"PyTorch encodes in {time.perf_counter() - start:.1f} s")
                gray = model([torch.full_like(image, 0.5)], "cpu")
                difference = relative(codes.numpy(), gray.numpy())[0]
                print(f"scene codes of the photo and of plain gray differ by {difference:.2f}")
                output = model.renderer.query_triplane(model.decoder, points, codes[0])
                density = output["density_act"].numpy().ravel()
                reference = model.extract_mesh(codes, False, args.resolution + 1, THRESHOLD)[0]
                expected_mesh = (reference.vertices, reference.faces)
                expected = {"scene codes": codes.numpy(), "densities": density, "colors": output["color"].numpy()}
                print(f"densities {density.min():.3g} to {density.max():.3g}, {len(reference.faces)} triangles")

            run = Run(bundle, args.photo, folder / "points", folder / f"run-{precision}", args.resolution)
            found = {
                "scene codes": run.read("scene_codes.f32", *codes.shape),
                "densities": run.read("density.f32", -1),
                "colors": run.read("color.f32", -1, 3),
            }
            mesh = (from_camera(run.read("vertices.f32", -1, 3)), run.read("indices.u32", -1, 3, dtype=np.uint32))
            distance = surface_distance(mesh, expected_mesh, 2 * RADIUS / args.resolution)
            errors = {name: relative(found[name], expected[name]) for name in expected}
            summary = ", ".join(f"{name} {norm:.1e} (worst {worst:.1e})" for name, (norm, worst) in errors.items())
            times = ", ".join(f"{step} {value}" for step, value in run.figures.items())
            print(f"{precision}: {size:.0f} MB; {summary}; surface {distance:.3f} cells; {times}", flush=True)
            if precision == "fp32" and (max(worst for _, worst in errors.values()) > 1e-3 or distance > 0.5):
                sys.exit("The results differ")


if __name__ == "__main__":
    main()
