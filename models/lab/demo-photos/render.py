"""Models and renders the example images that are not photographs (Blender 3.x, Cycles on the CPU).

    blender -b -P render.py -- teapot out.png [samples]

Objects: teapot, table-lamp, toy-truck (on a transparent background). For green-teapot and wooden-truck, it writes four
photos of an object that is turned on a table: out.png, out.left.png, out.back.png and out.right.png.
All shapes and materials are procedural. The only input file is `interior.exr`, a CC0 panorama of a room that ships
with Blender, for lighting and background. One unit is 10 cm. z is up, and +x is the front of the object.
"""

import math
import random
import sys
from pathlib import Path

import bmesh
import bpy
from mathutils import Vector

sys.path.append(str(Path(__file__).parents[1] / "quality"))
import side_photos

D = bpy.data


# ---------------------------------------------------------------- materials


def material(name, **inputs):
    """A Principled material. Keywords set its inputs: `base_color` sets 'Base Color', for example."""
    m = D.materials.new(name)
    m.use_nodes = True
    bsdf = m.node_tree.nodes["Principled BSDF"]
    for key, value in inputs.items():
        bsdf.inputs[key.replace("_", " ").title().replace("Ior", "IOR")].default_value = value
    return m, bsdf


def rgb(hex_color):
    """Converts a color such as '#c0ffee' to linear RGBA."""
    c = [int(hex_color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return (*[x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in c], 1)


class Nodes:
    """Shorthand for building node graphs."""

    def __init__(self, mat):
        self.tree = mat.node_tree

    def add(self, kind, **settings):
        node = self.tree.nodes.new("ShaderNode" + kind)
        for key, value in settings.items():
            if key in node.bl_rna.properties:
                setattr(node, key, value)
            else:
                node.inputs[key.replace("_", " ")].default_value = value
        return node

    def link(self, a, b):
        self.tree.links.new(a, b)

    def ramp(self, value, *stops):
        node = self.add("ValToRGB")
        elements = node.color_ramp.elements
        while len(elements) < len(stops):
            elements.new(0.5)
        for element, (position, color) in zip(elements, stops):
            element.position, element.color = position, color
        self.link(value, node.inputs[0])
        return node.outputs[0]

    def coords(self, scale=(1, 1, 1)):
        node = self.add("Mapping", Scale=scale)
        self.link(self.add("TexCoord").outputs["Object"], node.inputs[0])
        return node.outputs[0]

    def mix(self, factor, a, b):
        node = self.add("MixRGB")
        for socket, value in zip(node.inputs, (factor, a, b)):
            if isinstance(value, bpy.types.NodeSocket):
                self.link(value, socket)
            else:
                socket.default_value = value
        return node.outputs[0]

    def bump(self, height, bsdf, strength, distance=0.01):
        node = self.add("Bump", Strength=strength, Distance=distance)
        self.link(height, node.inputs["Height"])
        self.link(node.outputs[0], bsdf.inputs["Normal"])


def wood(name, light, dark, along="x", roughness=0.45, scale=1.0):
    m, bsdf = material(name, roughness=roughness)
    n = Nodes(m)
    stretch = {"x": (0.12, 1, 1), "y": (1, 0.12, 1), "z": (1, 1, 0.12)}[along]
    at = n.coords(tuple(s * scale for s in stretch))
    rings = n.add("TexNoise", Scale=5, Detail=3, Distortion=1.2)
    pores = n.add("TexNoise", Scale=55, Detail=4)
    for texture in (rings, pores):
        n.link(at, texture.inputs["Vector"])
    grain = n.ramp(rings.outputs[0], (0.30, rgb(dark)), (0.52, rgb(light)), (0.75, rgb(dark)))
    fine = n.ramp(pores.outputs[0], (0.38, (0.55, 0.5, 0.45, 1)), (0.6, (1, 1, 1, 1)))
    color = n.add("MixRGB", blend_type="MULTIPLY", Fac=0.6)
    n.link(grain, color.inputs[1])
    n.link(fine, color.inputs[2])
    n.link(color.outputs[0], bsdf.inputs["Base Color"])
    n.bump(pores.outputs[0], bsdf, 0.12)
    return m


def paint(name, color, roughness=0.4):
    """Enamel with a slight orange-peel texture and a thin clear coat."""
    m, bsdf = material(
        name, base_color=rgb(color), roughness=roughness, specular=0.3, clearcoat=0.15, clearcoat_roughness=0.15
    )
    n = Nodes(m)
    peel = n.add("TexNoise", Scale=14, Detail=2)
    n.link(n.coords(), peel.inputs["Vector"])
    n.bump(peel.outputs[0], bsdf, 0.05)
    return m


def stoneware(name, glaze, pooled, clay, foot):
    """A glaze with brown edges and iron specks. Below the height `foot`, the clay is bare."""
    m, bsdf = material(name, clearcoat=0.6, clearcoat_roughness=0.04, specular=0.5)
    n = Nodes(m)
    at = n.coords()
    cloud = n.add("TexNoise", Scale=3, Detail=5, Distortion=0.6)
    specks = n.add("TexNoise", Scale=42, Detail=1)
    for texture in (cloud, specks):
        n.link(at, texture.inputs["Vector"])
    body = n.ramp(cloud.outputs[0], (0.35, rgb(pooled)), (0.65, rgb(glaze)))
    edge = n.ramp(n.add("NewGeometry").outputs["Pointiness"], (0.515, (0, 0, 0, 1)), (0.56, (0.8, 0.8, 0.8, 1)))
    body = n.mix(edge, body, rgb("#7a4a2a"))
    body = n.mix(n.ramp(specks.outputs[0], (0.69, (0, 0, 0, 1)), (0.73, (0.75, 0.75, 0.75, 1))), body, rgb("#3a2a20"))
    axes = n.add("SeparateXYZ")
    n.link(at, axes.inputs[0])
    line = n.add("Math", operation="MULTIPLY_ADD")  # a wavy glaze line
    n.link(cloud.outputs[0], line.inputs[0])
    line.inputs[1].default_value = -0.06
    n.link(axes.outputs[2], line.inputs[2])
    bare = n.ramp(line.outputs[0], (max(foot - 0.034, 0), (1, 1, 1, 1)), (max(foot - 0.026, 0.001), (0, 0, 0, 1)))
    n.link(n.mix(bare, body, rgb(clay)), bsdf.inputs["Base Color"])
    n.link(n.mix(bare, (0.12, 0.12, 0.12, 1), (0.8, 0.8, 0.8, 1)), bsdf.inputs["Roughness"])
    coat = n.add("Invert")
    n.link(bare, coat.inputs[1])
    n.link(coat.outputs[0], bsdf.inputs["Clearcoat"])
    n.bump(cloud.outputs[0], bsdf, 0.1, 0.05)
    return m


def linen(name, color):
    """A woven, translucent lamp shade."""
    m, bsdf = material(name, base_color=rgb(color), roughness=0.9, specular=0.1)
    n = Nodes(m)
    # The weave follows the UVs of the lathe: u around the shade, v along its profile.
    uv = n.add("Mapping", Scale=(1, 1, 1))
    n.link(n.add("TexCoord").outputs["UV"], uv.inputs[0])
    threads = []
    for direction, scale in (("X", 70), ("Y", 18)):
        w = n.add("TexWave", bands_direction=direction, Scale=scale, Distortion=1.5, Detail=2)
        w.inputs["Detail Scale"].default_value = 3
        n.link(uv.outputs[0], w.inputs["Vector"])
        threads.append(w.outputs["Fac"])
    weave = n.mix(0.5, *threads)
    n.bump(weave, bsdf, 0.35)
    tone = n.mix(weave, rgb("#b9a98c"), rgb(color))
    n.link(tone, bsdf.inputs["Base Color"])
    glow = n.add("BsdfTranslucent")
    n.link(tone, glow.inputs[0])
    both = n.add("MixShader", Fac=0.4)
    n.link(bsdf.outputs[0], both.inputs[1])
    n.link(glow.outputs[0], both.inputs[2])
    n.link(both.outputs[0], n.tree.nodes["Material Output"].inputs[0])
    return m


# ---------------------------------------------------------------- shapes


def mesh(name, verts, faces, mat, smooth=True):
    me = D.meshes.new(name)
    me.from_pydata(verts, [], faces)
    me.materials.append(mat)
    ob = D.objects.new(name, me)
    bpy.context.collection.objects.link(ob)
    if smooth:
        me.polygons.foreach_set("use_smooth", [True] * len(me.polygons))
        me.use_auto_smooth, me.auto_smooth_angle = True, math.radians(40)
    return ob


def outward(ob):
    """Orients the faces of a closed shape outward, as booleans require."""
    bm = bmesh.new()
    bm.from_mesh(ob.data)
    bmesh.ops.recalc_face_normals(bm, faces=bm.faces)
    bm.to_mesh(ob.data)
    bm.free()
    return ob


def spline(points, steps=8):
    """A Catmull-Rom spline through the points. A repeated point is a corner."""
    out = []
    for i in range(len(points) - 1):
        p = [Vector(points[max(0, min(len(points) - 1, i + k))]) for k in (-1, 0, 1, 2)]
        if p[1] == p[2]:
            continue
        for s in range(steps):
            t = s / steps
            out.append(
                0.5
                * (
                    (2 * p[1])
                    + (p[2] - p[0]) * t
                    + (2 * p[0] - 5 * p[1] + 4 * p[2] - p[3]) * t * t
                    + (3 * p[1] - p[0] - 3 * p[2] + p[3]) * t**3
                )
            )
    return out + [Vector(points[-1])]


def lathe(name, profile, mat, smooth_profile=True, around=128):
    """Rotates a profile of (radius, height) pairs around z."""
    pts = spline(profile) if smooth_profile else [Vector(p) for p in profile]
    verts = [
        (max(p[0], 0) * math.cos(a), max(p[0], 0) * math.sin(a), p[1])
        for p in pts
        for a in [2 * math.pi * k / around for k in range(around)]
    ]
    faces = [
        (i * around + k, i * around + (k + 1) % around, (i + 1) * around + (k + 1) % around, (i + 1) * around + k)
        for i in range(len(pts) - 1)
        for k in range(around)
    ]
    ob = mesh(name, verts, faces, mat)
    uv = ob.data.uv_layers.new()
    for f, face in enumerate(ob.data.polygons):
        for loop, (u, v) in zip(face.loop_indices, ((0, 0), (1, 0), (1, 1), (0, 1))):
            uv.data[loop].uv = (f % around + u) / around * 6, (f // around + v) / (len(pts) - 1)
    return ob


def sweep(name, points, radii, mat, flat=1.0):
    """A tube along a spline in the xz plane. `flat` scales its cross-section perpendicular to that plane."""
    path, radius = spline(points, 12), spline([(r, i) for i, r in enumerate(radii)], 12)
    around, verts = 48, []
    for i, p in enumerate(path):
        ahead = (path[min(i + 1, len(path) - 1)] - path[max(i - 1, 0)]).normalized()
        side = Vector((0, 1, 0))
        up = side.cross(ahead)
        r = radius[i][0]
        verts += [
            p + side * (r * flat * math.cos(a)) + up * (r * math.sin(a))
            for a in [2 * math.pi * k / around for k in range(around)]
        ]
    n = len(path)
    faces = [
        (i * around + k, i * around + (k + 1) % around, (i + 1) * around + (k + 1) % around, (i + 1) * around + k)
        for i in range(n - 1)
        for k in range(around)
    ]
    faces += [tuple(range(around))[::-1], tuple(range((n - 1) * around, n * around))]
    return outward(mesh(name, verts, faces, mat))


def bevel(ob, width, segments=4):
    b = ob.modifiers.new("bevel", "BEVEL")
    b.width, b.segments, b.limit_method, b.harden_normals = width, segments, "ANGLE", True
    return ob


def prism(name, outline, half, mat, width=0.02):
    """An outline in the xz plane, extruded to a thickness of 2*half, with beveled edges."""
    n = len(outline)
    verts = [(x, s * half, z) for s in (-1, 1) for x, z in outline]
    faces = [tuple(range(n)), tuple(range(n, 2 * n))[::-1]]
    faces += [(i, i + n, (i + 1) % n + n, (i + 1) % n) for i in range(n)]
    ob = outward(mesh(name, verts, faces, mat))
    return bevel(ob, width) if width else ob


def board(name, size, at, mat, width=0.02):
    x, y, z = (s / 2 for s in size)
    ob = prism(name, [(-x, -z), (x, -z), (x, z), (-x, z)], y, mat, width)
    ob.location = at
    return ob


def cut(ob, tool):
    m = ob.modifiers.new("cut", "BOOLEAN")
    m.operation, m.object, m.solver = "DIFFERENCE", tool, "EXACT"
    tool.hide_render = tool.hide_viewport = True


def apply(ob):
    """Applies the modifiers to the mesh."""
    me = D.meshes.new_from_object(ob.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    ob.modifiers.clear()
    ob.data = me


def fuse(obs, voxel, smoothing):
    """Merges overlapping shapes into one surface with fillets at the joints."""
    bpy.ops.object.select_all(action="DESELECT")
    for ob in obs:
        ob.select_set(True)
    bpy.context.view_layer.objects.active = obs[0]
    bpy.ops.object.join()
    ob = obs[0]
    r = ob.modifiers.new("skin", "REMESH")
    r.mode, r.voxel_size, r.use_smooth_shade = "VOXEL", voxel, True
    s = ob.modifiers.new("smooth", "SMOOTH")
    s.factor, s.iterations = 0.5, smoothing
    return ob


# ---------------------------------------------------------------- studio


def area(at, target, size, power, color=(1, 1, 1)):
    light = D.lights.new("area", "AREA")
    light.size, light.energy, light.color = size, power, color
    ob = D.objects.new("area", light)
    ob.location = at
    ob.rotation_euler = (Vector(target) - Vector(at)).to_track_quat("-Z", "Y").to_euler()
    bpy.context.collection.objects.link(ob)


def camera(target, azimuth, elevation, distance, lens=80, fstop=None):
    cam = D.objects.new("camera", D.cameras.new("camera"))
    a, e = math.radians(azimuth), math.radians(elevation)
    cam.location = Vector(target) + distance * Vector(
        (math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e))
    )
    cam.rotation_euler = (Vector(target) - cam.location).to_track_quat("-Z", "Y").to_euler()
    cam.data.lens = lens
    if fstop:
        cam.data.dof.use_dof, cam.data.dof.focus_distance, cam.data.dof.aperture_fstop = True, distance, fstop
    bpy.context.collection.objects.link(cam)
    bpy.context.scene.camera = cam


def room(strength, turn=0):
    """Lighting, reflections and a distant background from Blender's panorama of a room."""
    world = bpy.context.scene.world = D.worlds.new("room")
    world.use_nodes = True
    n = Nodes(world)
    n.tree.nodes["Background"].inputs[1].default_value = strength
    folder = bpy.utils.system_resource("DATAFILES", path="studiolights/world")
    panorama = n.add("TexEnvironment", image=D.images.load(str(Path(folder) / "interior.exr")))
    spin = n.add("Mapping")
    spin.inputs["Rotation"].default_value[2] = math.radians(turn)
    n.link(n.add("TexCoord").outputs["Generated"], spin.inputs[0])
    n.link(spin.outputs[0], panorama.inputs[0])
    n.link(panorama.outputs[0], n.tree.nodes["Background"].inputs[0])


# ---------------------------------------------------------------- objects


def teapot_shape():
    clay = stoneware("glaze", "#8fb3a6", "#4f8a86", "#b08a63", 0.11)
    body = lathe(
        "body",
        [
            (0, 0),
            (0, 0),
            (0.40, 0),
            (0.44, 0.015),
            (0.45, 0.06),
            (0.50, 0.10),
            (0.69, 0.28),
            (0.78, 0.50),
            (0.745, 0.74),
            (0.60, 0.92),
            (0.45, 1.0),
            (0.40, 1.03),
            (0.385, 1.07),
            (0.36, 1.08),
            (0.34, 1.05),
            (0.30, 1.0),
            (0, 1.0),
            (0, 1.0),
        ],
        clay,
    )
    spout = sweep(
        "spout",
        [(0.55, 0, 0.36), (0.86, 0, 0.50), (1.04, 0, 0.76), (1.16, 0, 0.98), (1.30, 0, 1.10)],
        [0.26, 0.185, 0.125, 0.10, 0.095],
        clay,
    )
    bore = sweep(
        "bore", [(0.98, 0, 0.70), (1.05, 0, 0.80), (1.165, 0, 0.99), (1.33, 0, 1.125)], [0.05, 0.07, 0.075, 0.075], clay
    )
    cut(spout, bore)
    apply(spout)
    handle = sweep(
        "handle",
        [(-0.60, 0, 0.84), (-0.84, 0, 0.99), (-1.12, 0, 0.95), (-1.22, 0, 0.72), (-1.06, 0, 0.44), (-0.68, 0, 0.28)],
        [0.10, 0.078, 0.07, 0.07, 0.07, 0.10],
        clay,
        flat=1.35,
    )
    fuse([body, spout, handle], 0.012, 10)
    lathe(
        "lid",
        [
            (0, 1.03),
            (0, 1.03),
            (0.325, 1.03),
            (0.35, 1.07),
            (0.368, 1.10),
            (0.35, 1.125),
            (0.25, 1.175),
            (0.11, 1.205),
            (0.065, 1.225),
            (0.06, 1.25),
            (0.095, 1.29),
            (0.118, 1.335),
            (0.10, 1.375),
            (0.05, 1.395),
            (0, 1.40),
            (0, 1.40),
        ],
        clay,
    )


def teapot():
    teapot_shape()
    table = board("table", (9, 7, 0.3), (-1.6, 0, -0.15), wood("oak", "#b58554", "#8d5f36", "y", 0.4, 0.55))
    table.rotation_euler.z = math.radians(-38)
    room(0.8, 200)
    area((1.5, -5, 5), (0, 0, 0.5), 3, 330, (1, 0.96, 0.9))
    area((-4, -1, 3), (0, 0, 0.6), 2.5, 90, (0.9, 0.95, 1))
    camera((0.03, 0, 0.58), -50, 18, 7.3, 85, 3.5)
    return 1000, 800


def table_lamp():
    glaze = stoneware("glaze", "#2d4f73", "#173455", "#c9a27a", 0.0)
    brass, _ = material("brass", base_color=rgb("#c8a25a"), metallic=1, roughness=0.28)
    shade = linen("linen", "#efe3cb")
    trim, _ = material("trim", base_color=rgb("#d8c6a2"), roughness=0.9)
    lathe(
        "plinth",
        [(0, 0), (0, 0), (0.60, 0), (0.62, 0.02), (0.62, 0.06), (0.58, 0.09), (0.42, 0.10), (0, 0.10), (0, 0.10)],
        brass,
    )
    base = lathe(
        "base",
        [
            (0, 0.09),
            (0, 0.09),
            (0.40, 0.09),
            (0.41, 0.12),
            (0.37, 0.19),
            (0.42, 0.34),
            (0.63, 0.66),
            (0.72, 1.0),
            (0.64, 1.36),
            (0.40, 1.66),
            (0.235, 1.80),
            (0.20, 1.90),
            (0.235, 1.97),
            (0.22, 2.0),
            (0, 2.0),
            (0, 2.0),
        ],
        glaze,
    )
    base.modifiers.new("smooth", "SUBSURF").render_levels = 1
    lathe(
        "cap",
        [
            (0, 1.99),
            (0, 1.99),
            (0.25, 1.99),
            (0.26, 2.02),
            (0.22, 2.05),
            (0.09, 2.06),
            (0.075, 2.10),
            (0.075, 2.35),
            (0.11, 2.37),
            (0.11, 2.55),
            (0, 2.55),
            (0, 2.55),
        ],
        brass,
    )
    low, high = (1.18, 2.12), (0.84, 3.28)
    lathe("shade", [(low[0], low[1]), (high[0], high[1])], shade, False)
    for r, z in (low, high):
        lathe(
            "trim",
            [
                (r - 0.02, z - 0.025),
                (r + 0.02, z - 0.03),
                (r + 0.012, z + 0.035),
                (r - 0.03, z + 0.03),
                (r - 0.02, z - 0.025),
            ],
            trim,
            False,
        )
    for k in range(3):  # the arms that hold the shade
        arm = sweep("arm", [(0, 0, 3.2), (0.45, 0, 3.2), (0.83, 0, 3.26)], [0.014] * 3, brass)
        arm.rotation_euler.z = 2 * math.pi * k / 3 + 0.4
    lathe("rod", [(0.016, 2.5), (0.016, 3.3)], brass, False)
    lathe("finial", [(0, 3.20), (0.05, 3.22), (0.03, 3.27), (0.055, 3.33), (0.03, 3.40), (0, 3.41)], brass)
    bulb = D.lights.new("bulb", "POINT")
    bulb.energy, bulb.color, bulb.shadow_soft_size = 130, (1, 0.74, 0.45), 0.22
    ob = D.objects.new("bulb", bulb)
    ob.location = (0, 0, 2.72)
    bpy.context.collection.objects.link(ob)
    board("sideboard", (4.4, 14, 0.3), (-0.4, 0, -0.15), wood("walnut", "#7d5436", "#4e301d", "y", 0.38, 0.45), 0.04)
    wall, bsdf = material("wall", base_color=rgb("#b9c2b4"), roughness=0.9)
    n = Nodes(wall)
    plaster = n.add("TexNoise", Scale=5, Detail=8)
    n.link(n.coords(), plaster.inputs["Vector"])
    n.bump(plaster.outputs[0], bsdf, 0.25, 0.05)
    board("wall", (0.2, 30, 20), (-2.9, 0, 4), wall)
    room(0.5, 60)
    area((4, -5, 6), (0, 0, 1.5), 3, 620, (1, 0.97, 0.93))
    area((3, 6, 3), (0, 0, 1.5), 3, 120, (0.9, 0.95, 1))
    camera((0, 0, 1.70), -14, 14, 15, 105, 5)
    return 820, 1024


def truck_shape():
    beech = wood("beech", "#dcb98a", "#c29762", "x", 0.5, 1.3)
    oak = wood("oak", "#b98a58", "#95683c", "x", 0.5, 1.3)
    cross = wood("beech across", "#dcb98a", "#c29762", "y", 0.5, 1.3)
    bark = wood("bark", "#8a623f", "#5d3d25", "x", 0.7, 2.0)
    red, cream, tyre = paint("red", "#b3261e"), paint("cream", "#ecdcb9"), paint("black", "#24211f", 0.5)
    board("chassis", (2.75, 0.62, 0.16), (0.02, 0, 0.44), beech, 0.03)
    board("front bumper", (0.12, 0.98, 0.17), (1.42, 0, 0.44), cross, 0.035)
    # The cab: a solid block with windows cut through its sides, front and back.
    cab = prism(
        "cab",
        [
            (0.20, 0.52),
            (1.34, 0.52),
            (1.35, 0.80),
            (1.30, 0.91),
            (1.20, 0.95),
            (0.98, 0.985),
            (0.80, 1.42),
            (0.73, 1.50),
            (0.63, 1.53),
            (0.30, 1.53),
            (0.22, 1.48),
            (0.20, 1.40),
        ],
        0.45,
        red,
        0,
    )
    cut(
        cab,
        prism(
            "side window",
            [(0.34, 1.02), (0.84, 1.02), (0.725, 1.30), (0.66, 1.38), (0.40, 1.38), (0.34, 1.32)],
            1,
            red,
            0,
        ),
    )
    cut(cab, board("windscreen", (2.4, 0.62, 0.32), (0.9, 0, 1.20), red, 0))
    bevel(cab, 0.022)
    board("roof", (0.56, 0.99, 0.05), (0.46, 0, 1.55), cream, 0.022)
    grille = board("grille", (0.05, 0.50, 0.26), (1.345, 0, 0.71), cream, 0.02)
    for z in (0.63, 0.69, 0.75, 0.81):
        cut(grille, board("slot", (0.06, 0.40, 0.022), (1.38, 0, z), cream, 0))
    for y in (-0.345, 0.345):
        lamp = lathe(
            "headlight",
            [(0, 0), (0, 0), (0.07, 0), (0.075, 0.01), (0.075, 0.06), (0.055, 0.085), (0, 0.09), (0, 0.09)],
            cream,
        )
        lamp.location, lamp.rotation_euler = (1.33, y, 0.73), (0, math.radians(90), 0)
    # The bed: a floor, a headboard, and slatted sides on posts.
    board("floor", (1.56, 0.94, 0.10), (-0.62, 0, 0.575), oak, 0.02)
    board("headboard", (0.07, 0.94, 0.56), (0.12, 0, 0.90), oak, 0.025)
    for y in (-0.44, 0.44):
        for z in (0.735, 0.955):
            board("slat", (1.50, 0.06, 0.15), (-0.62, y, z), oak, 0.022)
        for x in (-1.28, -0.64, 0.0):
            board("post", (0.10, 0.05, 0.45), (x, y * 1.115, 0.84), beech, 0.02)
    for z in (0.735, 0.955):
        board("tailgate", (0.06, 0.82, 0.15), (-1.36, 0, z), oak, 0.022)
    random.seed(4)
    for y, z in ((-0.26, 0.77), (0.0, 0.77), (0.26, 0.77), (-0.13, 0.985), (0.13, 0.985), (0.0, 1.20)):
        r, length = 0.128, 1.26 + random.uniform(-0.06, 0.06)
        log = lathe(
            "log",
            [
                (0, 0),
                (0, 0),
                (r - 0.02, 0),
                (r, 0.02),
                (r, 0.02),
                (r, length - 0.02),
                (r, length - 0.02),
                (r - 0.02, length),
                (0, length),
                (0, length),
            ],
            bark,
        )
        log.data.materials.append(beech)
        for face in log.data.polygons:
            face.material_index = int(abs(face.normal.z) > 0.8)
        log.rotation_mode = "ZYX"
        log.location, log.rotation_euler = (
            (-1.27 + random.uniform(0, 0.05), y, z),
            (0, math.radians(90), random.uniform(0, 6)),
        )
    for x in (-0.86, 0.84):
        axle = lathe(
            "axle",
            [
                (0, -0.72),
                (0, -0.72),
                (0.07, -0.72),
                (0.085, -0.70),
                (0.085, -0.70),
                (0.085, 0.70),
                (0.085, 0.70),
                (0.07, 0.72),
                (0, 0.72),
                (0, 0.72),
            ],
            beech,
        )
        axle.location, axle.rotation_euler = (x, 0, 0.34), (math.radians(90), 0, 0)
        for side in (-1, 1):
            wheel = lathe(
                "wheel",
                [
                    (0, -0.11),
                    (0, -0.11),
                    (0.28, -0.11),
                    (0.325, -0.095),
                    (0.34, -0.05),
                    (0.34, 0.05),
                    (0.325, 0.095),
                    (0.28, 0.11),
                    (0.235, 0.11),
                    (0.225, 0.085),
                    (0.225, 0.085),
                    (0, 0.085),
                    (0, 0.085),
                ],
                tyre,
            )
            hub = lathe(
                "hub",
                [
                    (0, 0.08),
                    (0, 0.08),
                    (0.205, 0.08),
                    (0.215, 0.09),
                    (0.205, 0.105),
                    (0.13, 0.125),
                    (0, 0.13),
                    (0, 0.13),
                ],
                red,
            )
            for part in (wheel, hub):
                part.location, part.rotation_euler = (x, side * 0.56, 0.34), (math.radians(-90 * side), 0, 0)


def toy_truck():
    truck_shape()
    room(0.7, 20)
    area((5, -3, 6), (0, 0, 0.6), 2.5, 460, (1, 0.97, 0.93))
    area((2, 5, 4), (0, 0, 0.6), 3, 160, (0.92, 0.96, 1))
    area((0, 0, -4), (0, 0, 0), 5, 25)
    camera((0.03, 0, 0.70), -40, 20, 8.0, 85)
    bpy.context.scene.render.film_transparent = True
    return 1024, 768


# ---------------------------------------------------------------- four sides

# Turns and elevations of hands, by side.
HANDS = {"front": (0, 17), "left": (6, 18), "back": (-8, 17), "right": (-4, 19)}


def turned(shape, middle, azimuth, distance):
    """Yields the sides of a shape that is turned by quarter turns on a table, while camera and lights stay in place."""
    shape()
    bpy.context.view_layer.update()
    plate = D.objects.new("plate", None)
    bpy.context.collection.objects.link(plate)
    for ob in D.objects:
        if ob is not plate:
            ob.parent = plate
    board("table", (9, 9, 0.3), (0, 0, -0.15), wood("ash", "#cdb795", "#b79c76", "y", 0.5, 0.5))
    wall, _ = material("wall", base_color=rgb("#c9cdd0"), roughness=0.9)
    board("wall", (0.2, 40, 24), (-7, 0, 4), wall)
    room(0.6, 20)
    area((4, -4, 6), (0, 0, middle), 3, 300, (1, 0.97, 0.93))
    area((3, 5, 4), (0, 0, middle), 3, 140, (0.92, 0.96, 1))
    for side, (error, elevation) in HANDS.items():
        # What the camera would do around the object, the object does the other way around.
        plate.rotation_euler.z = math.radians(-(azimuth + side_photos.TURNS[side] + error))
        camera((0, 0, middle), 0, elevation, distance, 85)
        yield side


def green_teapot():
    return turned(teapot_shape, 0.62, -40, 7.8)


def wooden_truck():
    return turned(truck_shape, 0.66, -28, 8.6)


# ---------------------------------------------------------------- render


def render_sides(sides, path, samples, percentage):
    """Renders the four photos with few samples and a filter."""
    r, c = bpy.context.scene.render, bpy.context.scene.cycles
    r.engine = "CYCLES"
    r.resolution_x, r.resolution_y, r.resolution_percentage = 840, 700, percentage
    r.threads_mode, r.threads = "FIXED", 2
    c.samples, c.use_denoising, c.use_adaptive_sampling, c.max_bounces = samples, False, False, 4
    c.sample_clamp_direct, c.sample_clamp_indirect, c.caustics_reflective, c.caustics_refractive = 8, 3, False, False
    for side in sides:
        side_photos.render(str(path if side == "front" else path.with_suffix(f".{side}.png")), exposure=1)


def main():
    args = sys.argv[sys.argv.index("--") + 1 :]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    turned_shapes = {"green-teapot": green_teapot, "wooden-truck": wooden_truck}
    if args[0] in turned_shapes:
        samples, percentage = int(args[2]) if len(args) > 2 else 16, int(args[3]) if len(args) > 3 else 100
        render_sides(turned_shapes[args[0]](), Path(args[1]).resolve(), samples, percentage)
        return
    width, height = {"teapot": teapot, "table-lamp": table_lamp, "toy-truck": toy_truck}[args[0]]()
    r = scene.render
    r.engine = "CYCLES"
    r.resolution_x, r.resolution_y, r.resolution_percentage = width, height, int(args[3]) if len(args) > 3 else 100
    r.filepath = str(Path(args[1]).resolve())
    r.image_settings.color_mode = "RGBA" if r.film_transparent else "RGB"
    c = scene.cycles
    c.samples, c.use_denoising, c.adaptive_threshold = int(args[2]) if len(args) > 2 else 250, False, 0.015
    c.sample_clamp_direct, c.sample_clamp_indirect, c.caustics_reflective, c.caustics_refractive = 8, 3, False, False
    c.max_bounces, c.blur_glossy = 6, 1
    scene.view_settings.view_transform, scene.view_settings.look = "Filmic", "Medium High Contrast"
    bpy.ops.render.render(write_still=True)


main()
