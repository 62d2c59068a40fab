"""Reads the mesh formats of mesh_sources.py into Surfaces (voxelise.py), Y up."""

import io
import re
import shutil
import struct
import subprocess
import tempfile
import xml.etree.ElementTree as xml
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
            factor = material.main_color if factor is None and image is None else factor
            if factor is not None:
                factor = np.asarray(factor, np.float64)[:4]
                colours = factor / 255 if factor.max() > 1 else factor
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


def read_vrml(path):
    """VRML 2 as FreeCAD's StepUp writes it for KiCad: shapes with a material and indexed faces. Z up, turned."""
    text, builder, known = path.read_text(errors="replace"), Builder(), {}
    for shape in text.split("Shape")[1:]:
        if named := re.search(r"DEF\s+(\S+)\s+Material", shape):
            if colour := re.search(r"diffuseColor\s+([\d.eE+-]+)[\s,]+([\d.eE+-]+)[\s,]+([\d.eE+-]+)", shape):
                known[named[1]] = [float(c) for c in colour.groups()]
        used = re.search(r"(?:USE|DEF)\s+(\S+)", shape)
        points, faces = re.search(r"point\s*\[([^\]]*)\]", shape), re.search(r"coordIndex\s*\[([^\]]*)\]", shape)
        if not points or not faces:
            continue
        points = np.array(points[1].replace(",", " ").split(), np.float64).reshape(-1, 3)
        faces = np.array(faces[1].replace(",", " ").split(), np.int64)
        name = used[1] if used else ""
        builder.add(points, faces[faces >= 0].reshape(-1, 3), colours=known.get(name), part=list(known).index(name) if name in known else 0)
    return upright(builder.surface())


def read_spm(path):
    """SuperTuxKart's space-efficient meshes: positions, half-float texture coordinates, skinned ones at rest."""
    data, builder = path.read_bytes(), Builder()
    bytes_of = np.frombuffer(data, np.uint8)
    if data[:2] != b"SP" or data[2] >> 3 != 1:
        raise ValueError(f"{path} is not an SPM file of version 1")
    skinned, flags, at = data[2] & 7 == 1, data[3], 28
    names, (count,) = [], struct.unpack_from("<H", data, at)
    at += 2
    for _ in range(count):
        pair = []
        for _ in range(2):
            size = data[at]
            pair.append(data[at + 1 : at + 1 + size].decode(errors="replace"))
            at += 1 + size
        names.append(pair)
    (sectors,) = struct.unpack_from("<H", data, at)
    at += 2
    for _ in range(sectors):
        (buffers,) = struct.unpack_from("<H", data, at)
        at += 2
        for _ in range(buffers):
            vertices, indices, material = struct.unpack_from("<IIH", data, at)
            at += 10
            first, second = names[material]
            # A vertex has 1 byte for white or 4 for a colour, so their places are found first.
            fixed = 12 + 4 * (flags & 1) + (4 + 4 * bool(second) + 4 * bool(flags & 4) if first else 0) + 16 * skinned
            before = 12 + 4 * (flags & 1)
            starts, coloured = np.empty(vertices, np.int64), np.zeros(vertices, bool)
            for i in range(vertices):
                starts[i] = at
                coloured[i] = flags & 2 and data[at + before] != 128
                at += fixed + (4 if coloured[i] else 1 if flags & 2 else 0)
            take = lambda which, offset, size: bytes_of[(starts[which] + offset)[:, None] + np.arange(size)]  # noqa: E731
            everyone = np.arange(vertices)
            points = np.ascontiguousarray(take(everyone, 0, 12)).view("<f4")
            colours, uv = np.ones((vertices, 3)), np.zeros((vertices, 2))
            colours[coloured] = take(everyone[coloured], before + 1, 3) / 255
            if first:
                offset = before + np.where(coloured, 4, 1 if flags & 2 else 0)
                uv[:] = np.ascontiguousarray(bytes_of[(starts + offset)[:, None] + np.arange(4)]).view("<f2")
            width = 2 if vertices > 255 else 1
            faces = np.frombuffer(data, np.uint16 if width == 2 else np.uint8, indices, at).astype(np.int64)
            at += width * indices
            places = [folder / first for folder in (path.parent, *(p / "textures" for p in path.parents), *(p / "data" / "textures" for p in path.parents))]
            found = next((p for p in places if p.is_file()), None) if first else None
            texture = builder.texture(found, lambda found=found: Image.open(found)) if found else -1
            builder.add(points, faces, uv=uv * (1, -1), colours=colours, texture=texture, part=material)
    return builder.surface()


class Pyrogenesis:
    """0 A.D.'s actors: an XML that names a mesh, its texture, and further actors that stand at the same root."""

    def __init__(self, archive):
        self.archive, self.names = archive, set(archive.namelist())

    def read(self, actor):
        builder = Builder()
        self._add(builder, actor, depth=0)
        return builder.surface()

    def _add(self, builder, actor, depth):
        variants = [group.find("variant") for group in xml.fromstring(self.archive.read(f"art/actors/{actor}")).findall("group")]
        mesh = texture = None
        for variant in variants:
            if variant is None:
                continue
            mesh = variant.findtext("mesh") or mesh
            for entry in variant.iterfind("textures/texture"):
                if entry.get("name") == "baseTex":
                    texture = entry.get("file")
        if mesh:
            image = builder.texture(texture, lambda: self._image(texture))
            points, faces, uv = self._mesh(mesh)
            builder.add(points, faces, uv=uv, texture=image)
        for variant in variants:
            for prop in variant.iterfind("props/prop") if variant is not None and depth < 2 else ():
                name = prop.get("actor") or ""
                if prop.get("attachpoint") == "root" and name and not re.search("decal|garrison|flag|particle|tile", name):
                    self._add(builder, name, depth + 1)

    def _image(self, name):
        stem = f"art/textures/skins/{name}".rsplit(".", 1)[0]
        found = next((n for n in (f"{stem}{end}" for end in (".png.cached.dds", ".dds.cached.dds", ".dds", ".png")) if n in self.names), None)
        # Alpha is where the player's colour shows, not air.
        return Image.open(io.BytesIO(self.archive.read(found))).convert("RGB")

    def _mesh(self, name):
        """-> points, faces, uv of a compiled mesh ("PSMD", version 3 or 4)"""
        data = self.archive.read(f"art/meshes/{name}.cached.pmd" if name.endswith(".dae") else f"art/meshes/{name}")
        magic, version, _, count = struct.unpack_from("<4sIII", data, 0)
        at, sets = (20, struct.unpack_from("<I", data, 16)[0]) if version >= 4 else (16, 1)
        if magic != b"PSMD":
            raise ValueError(f"{name} is not a PMD file")
        width = 24 + 8 * sets + 20
        rows = np.frombuffer(data, np.uint8, count * width, at).reshape(count, width)
        points, uv = (np.ascontiguousarray(rows[:, a:b]).view("<f4") for a, b in ((0, 12), (24, 32)))
        at += count * width
        (faces,) = struct.unpack_from("<I", data, at)
        return points, np.frombuffer(data, "<u2", 3 * faces, at + 4).reshape(-1, 3), uv
