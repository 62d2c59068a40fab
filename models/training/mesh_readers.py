"""Reads the mesh formats of mesh_sources.py into Surfaces (voxelise.py), Y up."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import trimesh
from PIL import Image

from voxelise import Surface

# Textures are only looked up once a voxel.
LARGEST_TEXTURE = 1024


class Builder:
    """Collects triangles of several materials into one Surface."""

    def __init__(self):
        self.rows, self.textures, self.known = [], [], {}

    def texture(self, key, load):
        """The index of an image, -1 if it cannot be read. load() -> PIL image"""
        if key not in self.known:
            try:
                image = load().convert("RGBA")
                image.thumbnail((LARGEST_TEXTURE, LARGEST_TEXTURE))
                self.known[key] = len(self.textures)
                self.textures.append(np.asarray(image))
            except (OSError, ValueError, KeyError, NotImplementedError, AttributeError):
                self.known[key] = -1
        return self.known[key]

    def add(self, points, faces, *, uv=None, colours=None, texture=-1, part=None):
        """points [N,3], faces [F,3], uv [N,2], colours [N,3..4], [3..4] or none, 0..1"""
        faces = np.asarray(faces, np.int64).reshape(-1, 3)
        if not len(faces):
            return
        points = np.asarray(points, np.float64)
        count = len(points)
        colours = np.atleast_2d(np.asarray((1, 1, 1, 1) if colours is None else colours, np.float64))
        colours = np.broadcast_to(colours, (count, colours.shape[1]))
        if colours.shape[1] == 3:
            colours = np.concatenate([colours, np.ones((count, 1))], 1)
        uv = np.zeros((count, 2)) if uv is None else np.asarray(uv, np.float64)
        part = len(self.rows) if part is None else part
        self.rows.append((points[faces], colours[faces], uv[faces], np.full(len(faces), texture), np.full(len(faces), part)))

    def surface(self):
        triangles, colours, uv, texture, part = (np.concatenate(column) for column in zip(*self.rows))
        finite = np.isfinite(triangles).all((1, 2))
        return Surface(triangles[finite], colours[finite], uv[finite], texture[finite], self.textures, part[finite])


def read_with_trimesh(path, builder=None):
    """glTF, OBJ, STL, with materials and textures."""
    builder = builder or Builder()
    scene = trimesh.load(path, force="scene", process=False)
    for part, mesh in enumerate(scene.dump()):
        if not isinstance(mesh, trimesh.Trimesh):
            continue
        visual, uv, colours, texture = mesh.visual, None, None, -1
        if visual.kind == "texture":
            material = visual.material
            image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
            factor = getattr(material, "baseColorFactor", None)
            linear = factor is not None
            factor = material.main_color if factor is None and image is None else factor
            if factor is not None:
                factor = np.asarray(factor, np.float64)[:4]
                colours = factor / 255 if factor.max() > 1 else factor
                if linear:
                    # glTF states it in linear light.
                    colours = np.append(colours[:3] ** (1 / 2.2), colours[3:])
            if image is not None and visual.uv is not None:
                uv, texture = visual.uv, builder.texture(id(image), lambda image=image: image)
        elif visual.kind in ("vertex", "face"):
            colours = np.asarray(visual.vertex_colors, np.float64) / 255
        builder.add(mesh.vertices, mesh.faces, uv=uv, colours=colours, texture=texture, part=part)
    return builder.surface()


def read_with_assimp(path, z_up=False):
    """Collada, AC3D and others, by way of the command `assimp` (Debian: assimp-utils), which turns Collada Y up.

    z_up: Z is up, whatever the file says.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model, out, materials = path, folder / "mesh.obj", folder / "mesh.mtl"
        if path.suffix.lower() == ".dae":
            # Cinema 4D puts blanks before numbers, which assimp does not forgive.
            model = folder / "mesh.dae"
            text = re.sub(r">\s+(?=[-.\d])", ">", path.read_text(errors="replace"))
            model.write_text(re.sub("<up_axis>.*?</up_axis>", "<up_axis>Y_UP</up_axis>", text) if z_up else text)
        subprocess.run(["assimp", "export", model, out, "-tri"], check=True, capture_output=True, timeout=60)
        if materials.exists():
            lines = materials.read_text(errors="replace").splitlines()
            materials.write_text("\n".join(_with_texture_beside(line, path, folder) for line in lines))
        surface = read_with_trimesh(out)
        return upright(surface) if z_up else surface


def upright(surface):
    """The same with Y up instead of Z."""
    return replace(surface, triangles=surface.triangles[:, :, [0, 2, 1]] * (1, 1, -1))


def _with_texture_beside(line, path, folder):
    """Textures lie somewhere in the model's folder, whatever the file says; a copy is put beside the exported mesh."""
    if not line.strip().startswith("map_Kd"):
        return line
    name = re.split(r"[\\/]", line.strip()[7:].strip())[-1].replace("%20", " ").lower()
    for place in (path.parent, path.parent.parent):
        for found in place.rglob("*"):
            if found.name.lower() == name and found.is_file():
                copy = folder / re.sub(r"[^a-z0-9.]", "_", name)
                shutil.copy(found, copy)
                return f"map_Kd {copy.name}"
    return ""
