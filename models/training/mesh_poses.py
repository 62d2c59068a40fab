"""People and animals as they stand, run and sit: the frames of the animations of a binary glTF file (.glb), as Surfaces (voxelise.py).

Other readers give a figure with arms stretched out, as it was before it was animated.
"""

import io
import json
import struct

import numpy as np
from PIL import Image

from mesh_readers import Builder

TYPES = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
SHAPES = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
TRIANGLES = 4


class Figure:
    """A file, with everything that is needed to pose its figures."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, _, _, length = struct.unpack("<4sIII", data[:16])
        if magic != b"glTF":
            raise ValueError("not a binary glTF file")
        self.content = json.loads(data[20 : 20 + length])
        if self.content.get("extensionsRequired"):
            raise ValueError(f"needs {self.content['extensionsRequired']}")
        self.bytes = data[28 + length :]
        self.nodes = self.content["nodes"]

    def values(self, index):
        """An accessor's values, [N] or [N,K]; integers that stand for 0..1 or -1..1 as such."""
        accessor = self.content["accessors"][index]
        view = self.content["bufferViews"][accessor["bufferView"]]
        kind, width, count = np.dtype(TYPES[accessor["componentType"]]), SHAPES[accessor["type"]], accessor["count"]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride", kind.itemsize * width)
        found = np.ndarray((count, width), kind, self.bytes, start, (stride, kind.itemsize))
        if accessor.get("normalized"):
            found = found.astype(np.float32) / np.iinfo(kind).max
        return found[:, 0] if width == 1 else found

    def animations(self):
        """Their names, in order."""
        return [animation.get("name", str(i)) for i, animation in enumerate(self.content.get("animations", []))]

    def places(self, animation=None, moment=0.5):
        """Each node's place in the scene [4,4] at `moment`, 0 at the animation's start and 1 at its end."""
        own = [{key: np.array(node.get(key, usual), float) for key, usual in (("translation", (0, 0, 0)), ("rotation", (0, 0, 0, 1)), ("scale", (1, 1, 1)))} for node in self.nodes]
        if animation is not None:
            moving = self.content["animations"][animation]
            for channel in moving["channels"]:
                sampler, target = moving["samplers"][channel["sampler"]], channel["target"]
                if target["path"] not in own[target["node"]]:
                    continue
                times, values = self.values(sampler["input"]), self.values(sampler["output"])
                if sampler.get("interpolation") == "CUBICSPLINE":
                    values = values[1::3]
                at = times[0] + (times[-1] - times[0]) * moment
                own[target["node"]][target["path"]] = np.array([np.interp(at, times, column) for column in values.T])
        local = [np.array(node["matrix"], float).reshape(4, 4).T if "matrix" in node else _placed(**own[i]) for i, node in enumerate(self.nodes)]
        found, waiting = [None] * len(self.nodes), [(root, np.eye(4)) for root in self.content["scenes"][self.content.get("scene", 0)]["nodes"]]
        while waiting:
            index, parent = waiting.pop()
            found[index] = parent @ local[index]
            waiting += [(child, found[index]) for child in self.nodes[index].get("children", [])]
        return found

    def surface(self, animation=None, moment=0.5):
        builder, places = Builder(), self.places(animation, moment)
        for node, place in zip(self.nodes, places):
            if "mesh" not in node or place is None:
                continue
            joints = self._joints(node["skin"], places) if "skin" in node else None
            for shape in self.content["meshes"][node["mesh"]]["primitives"]:
                if shape.get("mode", TRIANGLES) != TRIANGLES:
                    continue
                points = self.values(shape["attributes"]["POSITION"]).astype(float)
                points = np.concatenate([points, np.ones((len(points), 1))], 1)
                if joints is None:
                    points = points @ place.T
                else:
                    weights = self.values(shape["attributes"]["WEIGHTS_0"]).astype(float)
                    weights /= weights.sum(1, keepdims=True).clip(1e-9)
                    blended = np.einsum("nk,nkij->nij", weights, joints[self.values(shape["attributes"]["JOINTS_0"])])
                    points = np.einsum("nij,nj->ni", blended, points)
                faces = self.values(shape["indices"]).reshape(-1, 3) if "indices" in shape else np.arange(len(points)).reshape(-1, 3)
                builder.add(points[:, :3], faces, **self._paint(builder, shape))
        return builder.surface()

    def _joints(self, skin, places):
        skin = self.content["skins"][skin]
        inverse = self.values(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        return np.stack([places[joint] for joint in skin["joints"]]) @ inverse

    def _paint(self, builder, shape):
        if "material" not in shape:
            return {}
        index = shape["material"]
        finish = self.content["materials"][index].get("pbrMetallicRoughness", {})
        linear = np.array(finish.get("baseColorFactor", (1, 1, 1, 1)), float)
        colour = np.append(linear[:3] ** (1 / 2.2), linear[3])
        texture, uv = finish.get("baseColorTexture"), shape["attributes"].get("TEXCOORD_0")
        if texture is None or uv is None:
            return {"colours": colour, "part": index}
        source = self.content["textures"][texture["index"]]["source"]
        # glTF counts v downwards, a Surface upwards.
        return {"colours": colour, "part": index, "uv": self.values(uv) * (1, -1) + (0, 1), "texture": builder.texture(source, lambda: self._image(source))}

    def _image(self, source):
        view = self.content["bufferViews"][self.content["images"][source]["bufferView"]]
        start = view.get("byteOffset", 0)
        return Image.open(io.BytesIO(self.bytes[start : start + view["byteLength"]]))


def _placed(translation, rotation, scale):
    x, y, z, w = rotation / np.linalg.norm(rotation)
    place = np.eye(4)
    place[:3, :3] = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]) * scale  # fmt: skip
    place[:3, 3] = translation
    return place


def poses(path, most):
    """-> names and functions that read the Surface of up to `most` moments of the animations; of the figure at rest where there are none"""
    try:
        names = Figure(path).animations()
    except (ValueError, KeyError, struct.error):
        names = []
    if not names:
        yield "rest", lambda: Figure(path).surface()
    for k in range(min(most, 3 * len(names)) if names else 0):
        # Evenly over all animations; each at another moment.
        index, moment = int(k * len(names) / min(most, 3 * len(names))), (0.13 + 0.38 * k) % 1
        yield f"{names[index]} {k}", lambda index=index, moment=moment: Figure(path).surface(index, moment)
