"""The four photos that a person takes of an object: front, left, back and right, with the errors of hands, and a filter
that makes few rays per pixel sufficient. Used by make_set.py, in Blender.
"""

import shutil
import tempfile
from pathlib import Path

import bpy
import numpy as np

# Degrees around the object from the front photo. The left photo is taken from where the left of the front photo is.
TURNS = {"front": 0, "left": -90, "back": 180, "right": 90}

# The passes of the renderer that the filter needs.
PASSES = {"Image": "light", "DiffCol": "paint", "Normal": "normal"}


def choose_views(dice):
    """The cameras by side. Two of three fronts are straight, the others at three quarters. Turns are off by up to 15
    degrees, and all photos have about one lens.
    """
    is_straight = dice.random() < 2 / 3
    front = dice.uniform(-25, 25) if is_straight else dice.choice((-1, 1)) * dice.uniform(28, 42)
    lens = dice.uniform(30, 50)
    views = {}
    for side, turn in TURNS.items():
        error = 0 if side == "front" else dice.uniform(-15, 15)
        view = {
            "yawDegrees": round((front + turn + error + 180) % 360 - 180, 3),
            "elevationDegrees": round(dice.uniform(5, 30), 3),
            "rollDegrees": round(max(-4, min(4, dice.gauss(0, 2))), 3),
            "fovDegrees": round(lens * dice.uniform(0.97, 1.03), 3),
            "aim": [round(dice.uniform(-0.05, 0.05), 3) for _ in range(2)],
        }
        if side == "front":
            view["fill"] = round(dice.uniform(0.68, 0.84), 3)
        views[side] = view
    return views


def render(path, exposure):
    """Renders the scene, filters its noise, and writes a PNG with straight alpha."""
    folder = Path(tempfile.mkdtemp())
    try:
        route_passes(folder)
        bpy.ops.render.render()
        light, paint, normal = (read(folder / f"{name}0001.exr") for name in PASSES.values())
    finally:
        shutil.rmtree(folder)
    write(filtered(light, paint, normal), exposure, path)


def route_passes(folder):
    """Makes the renderer write its passes to files in the folder."""
    scene = bpy.context.scene
    layer = scene.view_layers[0]
    layer.use_pass_diffuse_color = layer.use_pass_normal = True
    scene.use_nodes = True
    tree = scene.node_tree
    tree.nodes.clear()
    layers = tree.nodes.new("CompositorNodeRLayers")
    files = tree.nodes.new("CompositorNodeOutputFile")
    files.base_path = str(folder)
    files.format.file_format, files.format.color_depth, files.format.color_mode = "OPEN_EXR", "32", "RGBA"
    files.file_slots.clear()
    for name, file in PASSES.items():
        files.file_slots.new(file)
        tree.links.new(layers.outputs[name], files.inputs[file])


def read(path):
    """[height, width, 4], linear, rows from the bottom."""
    image = bpy.data.images.load(str(path))
    image.colorspace_settings.name = "Non-Color"
    width, height = image.size
    values = np.empty(width * height * 4, np.float32)
    image.pixels.foreach_get(values)
    bpy.data.images.remove(image)
    return values.reshape(height, width, 4)


def filtered(light, paint, normal):
    """Smooths the light on the paint with an edge-avoiding wavelet filter (Dammertz and others, 2010)."""
    paint = paint[..., :3] + 0.04
    guide = np.concatenate([normal[..., :3] * 2.2, paint * 1.5, light[..., 3:] * 4], axis=2)
    shade = light[..., :3] / paint
    for level in range(4):
        step = 2**level
        tolerance = 3 * (0.3 * 0.6**level) ** 2
        total, weights = 0, 0
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                kernel = (2 - abs(dy)) * (2 - abs(dx)) / 16
                near_guide, near_shade = (np.roll(a, (dy * step, dx * step), (0, 1)) for a in (guide, shade))
                surface = 12 * ((guide - near_guide) ** 2).sum(axis=2)
                light_change = ((shade - near_shade) ** 2).sum(axis=2) / tolerance
                weight = (kernel * np.exp(-surface - light_change))[..., None]
                total, weights = total + weight * near_shade, weights + weight
        shade = total / weights
    return np.concatenate([shade * paint, light[..., 3:]], axis=2)


def write(linear, exposure, path):
    """Writes premultiplied linear light as a PNG in sRGB with straight alpha."""
    alpha = np.clip(linear[..., 3:], 0, 1)
    light = np.where(alpha > 1e-3, exposure * linear[..., :3] / np.maximum(alpha, 1e-3), 0).clip(0, 1)
    color = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    height, width = alpha.shape[:2]
    image = bpy.data.images.new("photo", width, height, alpha=True)
    image.alpha_mode = "STRAIGHT"
    image.pixels.foreach_set(np.concatenate([color, alpha], axis=2).astype(np.float32).ravel())
    image.filepath_raw, image.file_format = path, "PNG"
    image.save()
    bpy.data.images.remove(image)
