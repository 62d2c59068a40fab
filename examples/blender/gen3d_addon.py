"""
Blender add-on: makes a 3D model of a photo with a gen3d server, and places it at the 3D cursor.

Photos of the left, back and right are optional: left is taken from where the left edge of the front photo is.

Install this file in Edit > Preferences > Add-ons > Install, enable it, and enter the server's address and an API key.
The panel is in the sidebar of the 3D viewport (N), tab gen3d. It needs Blender 3.4 or later and nothing else.
"""

import base64
import contextlib
import json
import os
import tempfile
import threading
import uuid
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

import bpy
import numpy
from mathutils import Vector

bl_info = {
    "name": "gen3d",
    "description": "Makes a 3D model of a photo",
    "author": "The gen3d authors",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "3D Viewport > Sidebar > gen3d",
    "category": "Import-Export",
}

MIME_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
MAX_PHOTO_BYTES = 4 * 1024 * 1024  # of a photo in a request
MAX_TOGETHER_BYTES = 6_000_000  # of all photos in a request, whose base64 is a third longer
MAX_PHOTO_SIDE = 2048  # pixels that the server uses
SIDES = ("left", "back", "right")  # optional photos beside the front
MAX_MODEL_BYTES = 256 * 1024 * 1024
POLL_SECONDS = 2
MAX_FAILED_POLLS = 30  # a minute, in which a server can restart


class NoRedirects(HTTPRedirectHandler):
    """Makes a redirect an HTTPError: urllib would send the API key along, also to another host."""

    def redirect_request(self, *_arguments):
        """Follows no redirect."""


API = build_opener(NoRedirects)
FILES = build_opener()


def open_url(opener: OpenerDirector, request: Request):
    """Opens an http(s) address. urllib would also open files of this computer, and the server names the model's URL."""
    if request.type not in ("http", "https"):
        raise ValueError(f"{request.full_url} is not an http or https address")
    return opener.open(request, timeout=60)


class Job(threading.Thread):
    """Makes one model in a thread of its own, which never touches Blender's data."""

    def __init__(self, server: str, key: str, photo: str, views: dict[str, str]):
        super().__init__(daemon=True)
        self.server, self.key, self.photo, self.views = server.rstrip("/"), key.strip(), photo, views
        self.id = None
        self.progress = 0
        self.glb = None
        self.error = None
        self.canceled = threading.Event()

    def run(self) -> None:
        """Sets `glb` or `error`, or neither if the job was canceled."""
        try:
            self.glb = self.make()
        except HTTPError as error:
            self.error = refusal(error)
        except (OSError, ValueError) as error:
            self.error = f"{self.server} cannot be used: {getattr(error, 'reason', error)}. Check that it is running."

    def make(self) -> bytes | None:
        """Creates the job, waits for it, and returns the GLB, or None if it was canceled."""
        photos = {"image_urls": [self.photo], "views": self.views}
        body = {"type": "image-to-3d", "input": photos, "idempotency_key": str(uuid.uuid4())}
        self.id = self.call("/v1/jobs", body)["job_id"]
        failed_polls = 0
        while not self.canceled.wait(POLL_SECONDS):
            try:
                task = self.call(f"/v1/jobs/{self.id}")
                failed_polls = 0
            except URLError as error:
                failed_polls += 1
                refused = isinstance(error, HTTPError) and error.code < 500 and error.code != 429
                if refused or failed_polls > MAX_FAILED_POLLS:
                    raise
                continue
            self.progress = task["progress"]
            if task["status"] == "SUCCEEDED":
                # Models are public, so the key is not sent to the place where they are.
                with open_url(FILES, Request(task["model_urls"]["glb"])) as response:
                    return response.read(MAX_MODEL_BYTES)
            if task["status"] in ("FAILED", "CANCELED"):
                self.error = (task.get("error") or {}).get("message") or "The job was canceled on the server."
                return None
        with contextlib.suppress(HTTPError):  # It is finished, or the server cannot cancel jobs.
            self.call(f"/gen3d/jobs/{self.id}/cancel", {})
        return None

    def call(self, path: str, body: dict | None = None) -> dict:
        """Sends a request to the server's API, and returns the JSON of the response."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with open_url(API, Request(self.server + path, data, headers)) as response:
            return json.load(response)


def refusal(error: HTTPError) -> str:
    """Says in a sentence why the server refused a request."""
    if 300 <= error.code < 400:
        address = error.headers.get("Location", "another address")
        return f"The server redirects to {address}. Set that server's address in the add-on's preferences."
    if error.code == 403:
        return "The API key is missing, wrong or revoked. Set it in the add-on's preferences."
    try:
        return json.load(error)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return f"The server responded with {error.code} {error.reason}."


def data_uri(image: bpy.types.Image, count: int) -> str:
    """Returns one of `count` images as the API accepts it: PNG, JPEG or WebP of at most 4 MiB. Converts others."""
    max_bytes = min(MAX_PHOTO_BYTES, MAX_TOGETHER_BYTES // count)
    file = Path(bpy.path.abspath(image.filepath)) if image.filepath and not image.is_dirty else None
    suffix = file.suffix.lower() if file else ""
    if image.packed_file is None and suffix in MIME_TYPES and file.is_file() and file.stat().st_size <= max_bytes:
        return f"data:{MIME_TYPES[suffix]};base64,{base64.b64encode(file.read_bytes()).decode()}"
    # Image.copy() would lose what was painted or pasted and not saved.
    copy = bpy.data.images.new("gen3d", *image.size, alpha=True)
    pixels = numpy.empty(len(image.pixels), numpy.float32)
    image.pixels.foreach_get(pixels)
    copy.pixels.foreach_set(pixels)
    suffix = ".png" if image.depth in (32, 64, 128) else ".jpg"
    handle, path = tempfile.mkstemp(suffix)
    os.close(handle)
    try:
        # Several PNGs of full size would not fit into a request.
        max_side = MAX_PHOTO_SIDE // 2 if count > 1 and suffix == ".png" else MAX_PHOTO_SIDE
        factor = min(1, max_side / max(image.size))
        copy.scale(*(max(1, round(side * factor)) for side in image.size))
        copy.file_format = "PNG" if suffix == ".png" else "JPEG"
        copy.filepath_raw = path
        copy.save()
        return f"data:{MIME_TYPES[suffix]};base64,{base64.b64encode(Path(path).read_bytes()).decode()}"
    finally:
        bpy.data.images.remove(copy)
        Path(path).unlink()


def place(glb: bytes, size: float) -> None:
    """Imports a GLB with Blender's importer. It stands on the 3D cursor, and its longest side is `size` meters."""
    handle, path = tempfile.mkstemp(".glb")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(glb)
        # Debian 12's importer uses a name that Debian 12's numpy does not have.
        if not hasattr(numpy, "bool"):
            numpy.bool = bool
        before = set(bpy.data.objects)
        bpy.ops.import_scene.gltf(filepath=path)
    finally:
        Path(path).unlink()
    bpy.context.view_layer.update()
    added = [item for item in bpy.data.objects if item not in before]
    corners = [item.matrix_world @ Vector(corner) for item in added if item.type == "MESH" for corner in item.bound_box]
    low, high = (Vector(map(extreme, zip(*corners, strict=True))) for extreme in (min, max))
    factor = size / max(high - low)
    foot = Vector(((low.x + high.x) / 2, (low.y + high.y) / 2, low.z))
    for item in added:
        if item.parent is None:
            item.location = bpy.context.scene.cursor.location + (item.location - foot) * factor
            item.scale *= factor


job = None
message = ""


def show(text: str | None) -> None:
    """Shows a text in the status bar, or Blender's own if it is None."""
    for window in bpy.context.window_manager.windows:
        window.workspace.status_text_set(text)
        for area in window.screen.areas:
            area.tag_redraw()


def watch() -> float | None:
    """Shows the job's progress and places its model. Blender calls it every half second, until it returns None."""
    global job, message
    if job.is_alive():
        show("gen3d: canceling" if job.canceled.is_set() else f"gen3d: {job.progress} %")
        return 0.5
    done, job = job, None
    message = done.error or ("" if done.glb else "Canceled")
    if done.glb:
        windows = bpy.context.window_manager.windows
        scene = bpy.context.scene
        try:
            with bpy.context.temp_override(**({"window": windows[0]} if windows else {})):
                place(done.glb, scene.gen3d_size)
        except RuntimeError as error:
            message = f"Blender could not import the model: {str(error).strip().splitlines()[-1]}"
        # The next object has other sides.
        for side in SIDES:
            setattr(scene, f"gen3d_{side}", "")
    show(None)
    return None


class MakeModel(bpy.types.Operator):
    """Make a 3D model of a photo at the 3D cursor"""

    bl_idname = "gen3d.make_model"
    bl_label = "From a Photo…"
    filepath: bpy.props.StringProperty(subtype="FILE_PATH")
    image: bpy.props.StringProperty(description="Name of an image in this Blender file, instead of a path")
    filter_glob: bpy.props.StringProperty(default="*.png;*.jpg;*.jpeg;*.webp;*.tif;*.tiff;*.bmp", options={"HIDDEN"})

    @classmethod
    def poll(cls, _context):
        """Allows one job at a time."""
        return job is None

    def invoke(self, context, _event):
        """Asks for the file."""
        if self.image:
            return self.execute(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        """Starts the job."""
        global job, message
        preferences = context.preferences.addons[__name__].preferences
        sources = {"front": self.image or self.filepath}
        sources |= {side: path for side in SIDES if (path := getattr(context.scene, f"gen3d_{side}"))}
        known = set(bpy.data.images)
        photos = {}
        try:
            for side, source in sources.items():
                of_file = side != "front" or not self.image
                image = bpy.data.images.load(bpy.path.abspath(source)) if of_file else bpy.data.images[source]
                photos[side] = data_uri(image, len(sources))
        except (KeyError, OSError, RuntimeError, TypeError, ZeroDivisionError):
            self.report({"ERROR"}, f"{source} is not an image. Choose another file.")
            return {"CANCELLED"}
        finally:
            for added in set(bpy.data.images) - known:
                bpy.data.images.remove(added)
        message = ""
        job = Job(preferences.server, preferences.key, photos.pop("front"), photos)
        job.start()
        bpy.app.timers.register(watch)
        return {"FINISHED"}


class CancelJob(bpy.types.Operator):
    """Cancel the job, also on the server"""

    bl_idname = "gen3d.cancel"
    bl_label = "Cancel"

    @classmethod
    def poll(cls, _context):
        """Needs a job that is not being canceled."""
        return job is not None and not job.canceled.is_set()

    def execute(self, _context):
        """Cancels the job."""
        job.canceled.set()
        return {"FINISHED"}


class Panel(bpy.types.Panel):
    """The sidebar's tab."""

    bl_idname = "GEN3D_PT_panel"
    bl_label = "Model from a photo"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "gen3d"

    def draw(self, context):
        """Draws the size, the other sides, the two buttons, and what happened."""
        layout, scene = self.layout, context.scene
        layout.prop(scene, "gen3d_size")
        for side in SIDES:
            layout.prop(scene, f"gen3d_{side}")
        layout.operator(MakeModel.bl_idname, icon="FILE_IMAGE")
        # An image that was pasted into the image editor, rendered or painted.
        layout.prop(scene, "gen3d_image", text="")
        if scene.gen3d_image:
            layout.operator(MakeModel.bl_idname, text="From This Image").image = scene.gen3d_image.name
        if job is not None:
            layout.operator(CancelJob.bl_idname, icon="X", text=f"Cancel ({job.progress} %)")
        if message:
            layout.label(text=message, icon="INFO")


class Preferences(bpy.types.AddonPreferences):
    """The server and the key."""

    bl_idname = __name__
    server: bpy.props.StringProperty(name="Server", default="http://127.0.0.1:8787")
    key: bpy.props.StringProperty(name="API key", subtype="PASSWORD", default="")

    def draw(self, _context):
        """Draws both."""
        self.layout.prop(self, "server")
        self.layout.prop(self, "key")


CLASSES = (Preferences, MakeModel, CancelJob, Panel)


def register() -> None:
    """Blender calls it when the add-on is enabled."""
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    size = bpy.props.FloatProperty(name="Longest side", default=0.3, min=0.001, unit="LENGTH")
    bpy.types.Scene.gen3d_size = size
    for side in SIDES:
        path = bpy.props.StringProperty(name=side.title(), subtype="FILE_PATH", description="Photo of this side")
        setattr(bpy.types.Scene, f"gen3d_{side}", path)
    bpy.types.Scene.gen3d_image = bpy.props.PointerProperty(type=bpy.types.Image)


def unregister() -> None:
    """Blender calls it when the add-on is disabled. A job continues on the server."""
    if bpy.app.timers.is_registered(watch):
        bpy.app.timers.unregister(watch)
    for side in SIDES:
        delattr(bpy.types.Scene, f"gen3d_{side}")
    del bpy.types.Scene.gen3d_size, bpy.types.Scene.gen3d_image
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
