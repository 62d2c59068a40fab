"""Sizes of the TripoSR network: the published one, and smaller ones for tests."""

from typing import NamedTuple


class Size(NamedTuple):
    """Channels and layers of the image encoder and of the triplane transformer."""

    vision_channels: int
    vision_layers: int
    plane_size: int
    channels: int
    layers: int


SIZES = {"tiny": Size(192, 2, 16, 128, 2), "small": Size(384, 4, 32, 512, 4), "full": Size(768, 12, 32, 1024, 16)}
IMAGE_SIZE = 512
PATCH_SIZE = 16
# The image encoder was trained on 14 x 14 patches.
TRAINED_SIDE = 14
HEAD_CHANNELS = 64
GROUPS = 32
SCENE_CHANNELS = 40
DECODER_NEURONS = 64
DECODER_LAYERS = 9
DENSITY_BIAS = -1.0
