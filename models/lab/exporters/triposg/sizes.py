"""Sizes of TripoSG's networks: the published ones, and smaller ones for tests."""

from typing import NamedTuple


class Size(NamedTuple):
    """Sizes of the image encoder (vision), the flow transformer (flow) and the autoencoder (shape)."""

    image_size: int
    # The position embeddings were trained for trained_side x trained_side patches.
    trained_side: int
    vision_channels: int
    vision_heads: int
    vision_layers: int
    flow_channels: int
    flow_heads: int
    flow_layers: int
    shape_channels: int
    shape_heads: int
    shape_layers: int
    # The encoder of the autoencoder is part of the checkpoint, and not used.
    surface_channels: int
    surface_layers: int
    latent_tokens: int
    latent_channels: int

    @property
    def patches(self) -> int:
        """Patches along a side of the image."""
        return self.image_size // PATCH_SIZE

    @property
    def image_tokens(self) -> int:
        """Tokens of the image: one for the whole image, and one per patch."""
        return 1 + self.patches**2


SIZES = {
    "tiny": Size(56, 5, 32, 2, 2, 64, 4, 3, 32, 2, 2, 16, 1, 64, 8),
    "full": Size(224, 37, 1024, 16, 24, 2048, 16, 21, 1024, 8, 16, 512, 8, 2048, 64),
}
PATCH_SIZE = 14
FREQUENCIES = 8
POINT_CHANNELS = 3 * (1 + 2 * FREQUENCIES)
LONGEST_PERIOD = 10_000
