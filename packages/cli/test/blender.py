"""Run by blender.system.test.ts in Blender: uses the add-on as its buttons do, and prints what happened as JSON."""

import json
import os
import sys
import time

import bpy

addon_file, photo, server, key = sys.argv[sys.argv.index("--") + 1 :]
bpy.ops.preferences.addon_install(filepath=addon_file)
bpy.ops.preferences.addon_enable(module="gen3d_addon")
import gen3d_addon  # noqa: E402

preferences = bpy.context.preferences.addons["gen3d_addon"].preferences
preferences.server, preferences.key = server, key
scene = bpy.context.scene
scene.cursor.location, scene.gen3d_size = (1, 2, 3), 0.5


def make(cancel=False, **source):
    before = set(bpy.data.objects)
    bpy.ops.gen3d.make_model(**source)
    job = gen3d_addon.job
    while gen3d_addon.watch() is not None:
        if cancel and job.id and not job.canceled.is_set():
            bpy.ops.gen3d.cancel()
        time.sleep(0.1)
    bpy.context.view_layer.update()
    meshes = [item for item in set(bpy.data.objects) - before if item.type == "MESH"]
    corners = [item.matrix_world @ gen3d_addon.Vector(corner) for item in meshes for corner in item.bound_box]
    low, high = ([extreme(axis) for axis in zip(*corners, strict=True)] or None for extreme in (min, max))
    textured = all(any(node.type == "TEX_IMAGE" for node in mesh.active_material.node_tree.nodes) for mesh in meshes)
    made = {"meshes": len(meshes), "textured": textured, "low": low, "high": high}
    return {"job": job.id, "message": gen3d_addon.message, **made}


results = {}
if os.environ.get("CANCEL"):
    results["canceled"] = make(cancel=True, filepath=photo)
else:
    results["file"] = make(filepath=photo)
    image = bpy.data.images.new("pasted", 2400, 1200, alpha=True)
    image.pixels.foreach_set(
        [
            value
            for y in range(1200)
            for x in range(2400)
            for value in (0.8, 0.2, 0.1, 1.0 if (x - 1200) ** 2 + (y - 600) ** 2 < 500**2 else 0.0)
        ]
    )
    results["image"] = make(image="pasted")
    scene.gen3d_back = photo
    results["sides"] = make(filepath=photo)
    results["sides"]["backAfterwards"] = scene.gen3d_back
    scene.gen3d_right = addon_file
    try:
        make(filepath=photo)
    except RuntimeError as error:
        results["refused"] = str(error)
    scene.gen3d_right = ""
    preferences.key = "gen3d_wrong"
    results["key"] = make(filepath=photo)
    preferences.server = "http://127.0.0.1:1"
    results["server"] = make(filepath=photo)
    for name in ("redirecting", "deceiving"):
        preferences.server = os.environ[name.upper()]
        results[name] = make(filepath=photo)
    bpy.ops.preferences.addon_disable(module="gen3d_addon")
print("RESULTS " + json.dumps(results))
