"""TripoSR's reference implementation, from a clone of it, with random weights or those of a checkpoint.

Modules that it needs only to download files or to cut out photos are stubbed. scikit-image's marching cubes replace
torchmcubes.
"""

import json
import sys
import types
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import yaml
from skimage.measure import marching_cubes

from sizes import PATCH_SIZE, SIZES

RADIUS = 0.87
THRESHOLD = 25


def stub(name: str, **attributes: object) -> None:
    """Installs a module with these attributes."""
    module = types.ModuleType(name)
    vars(module).update(attributes)
    sys.modules[name] = module


def stub_unused_modules(vision_config: Path) -> None:
    """Stubs the modules that the computation does not need."""

    class OmegaConf:
        structured = staticmethod(lambda fields: fields)
        merge = staticmethod(lambda fields, given: fields(**(given or {})))

    def cubes(level: torch.Tensor, at: float) -> tuple[torch.Tensor, torch.Tensor]:
        # torchmcubes gives x, y, z for axes 2, 1, 0.
        vertices, faces, *_ = marching_cubes(level.numpy(), at)
        return torch.from_numpy(vertices[:, ::-1].copy()), torch.from_numpy(faces.astype(np.int64))

    stub("omegaconf", OmegaConf=OmegaConf, DictConfig=dict)
    stub("torchmcubes", marching_cubes=cubes)
    stub("rembg")
    import huggingface_hub

    huggingface_hub.hf_hub_download = lambda **_: str(vision_config)
    from transformers.models.vit.modeling_vit import ViTEmbeddings

    ViTEmbeddings.interpolate_pos_encoding = interpolate_as_trained


def interpolate_as_trained(self: torch.nn.Module, _: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Interpolates as transformers 4.35, with which TripoSR was trained.

    Later versions interpolate to 32 x 32 instead of 32.1 x 32.1.
    """
    first, grid = self.position_embeddings[:, :1], self.position_embeddings[:, 1:]
    side = round(grid.shape[1] ** 0.5)
    grid = grid.reshape(1, side, side, -1).permute(0, 3, 1, 2)
    scale = tuple((pixels // PATCH_SIZE + 0.1) / side for pixels in (height, width))
    grid = F.interpolate(grid, scale_factor=scale, mode="bicubic", align_corners=False)
    return torch.cat((first, grid.flatten(2).transpose(1, 2)), dim=1)


def published_name(name: str) -> str:
    """The name of a tensor in the published checkpoint, which transformers 4.35 wrote."""
    if not name.startswith("image_tokenizer.model.layers."):
        return name
    for new, old in (
        (".model.layers.", ".model.encoder.layer."),
        (".attention.q_proj.", ".attention.attention.query."),
        (".attention.k_proj.", ".attention.attention.key."),
        (".attention.v_proj.", ".attention.attention.value."),
        (".attention.o_proj.", ".attention.output.dense."),
        (".mlp.fc1.", ".intermediate.dense."),
        (".mlp.fc2.", ".output.dense."),
    ):
        name = name.replace(new, old)
    return name


def configuration(size: str) -> tuple[dict, dict]:
    """The configurations of the image encoder and of TripoSR."""
    vision_channels, vision_layers, plane_size, channels, layers = SIZES[size]
    vision = {
        "model_type": "vit",
        "hidden_size": vision_channels,
        "num_hidden_layers": vision_layers,
        "num_attention_heads": vision_channels // 64,
        "intermediate_size": 4 * vision_channels,
        "layer_norm_eps": 1e-12,
        "image_size": 224,
        "patch_size": 16,
    }
    config = {
        "cond_image_size": 512,
        "image_tokenizer_cls": "tsr.models.tokenizers.image.DINOSingleImageTokenizer",
        "image_tokenizer": {"pretrained_model_name_or_path": "local"},
        "tokenizer_cls": "tsr.models.tokenizers.triplane.Triplane1DTokenizer",
        "tokenizer": {"plane_size": plane_size, "num_channels": channels},
        "backbone_cls": "tsr.models.transformer.transformer_1d.Transformer1D",
        "backbone": {
            "in_channels": channels,
            "num_attention_heads": channels // 64,
            "attention_head_dim": 64,
            "num_layers": layers,
            "cross_attention_dim": vision_channels,
        },
        "post_processor_cls": "tsr.models.network_utils.TriplaneUpsampleNetwork",
        "post_processor": {"in_channels": channels, "out_channels": 40},
        "decoder_cls": "tsr.models.network_utils.NeRFMLP",
        "decoder": {"in_channels": 120, "n_neurons": 64, "n_hidden_layers": 9, "activation": "silu"},
        "renderer_cls": "tsr.models.nerf_renderer.TriplaneNeRFRenderer",
        "renderer": {
            "radius": RADIUS,
            "feature_reduction": "concat",
            "density_activation": "exp",
            "density_bias": -1.0,
            "num_samples_per_ray": 128,
        },
    }
    return vision, config


@torch.no_grad()
def build_reference(folder: Path, size: str) -> torch.nn.Module:
    """The reference with random weights, saved as `model.ckpt` and `config.yaml` in `folder`."""
    vision, config = configuration(size)
    (folder / "vision.json").write_text(json.dumps(vision))
    stub_unused_modules(folder / "vision.json")
    from tsr.system import TSR

    torch.manual_seed(0)
    model = TSR(config).eval()
    embeddings = model.tokenizer.embeddings
    coarse = torch.randn(3, embeddings.shape[1], 4, 4)
    embeddings.copy_(F.interpolate(coarse, embeddings.shape[-2:], mode="bicubic", align_corners=True))
    model.renderer.set_chunk_size(8192)
    for block in model.backbone.transformer_blocks:
        # Untrained weights of full size would break the object into pieces.
        block.attn2.to_out[0].weight.mul_(0.2)
    fit_object(model)
    torch.save({published_name(name): tensor for name, tensor in model.state_dict().items()}, folder / "model.ckpt")
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return model


def fit_object(model: torch.nn.Module) -> None:
    """Fits the last layers of encoder and decoder: smooth planes, and a surface.

    Noise has no surface to compare. The object is a dented ball when the photo is plain gray.
    """
    seen = []
    handle = model.post_processor.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][0]))
    model([torch.full((512, 512, 3), 0.5)], "cpu")
    handle.remove()
    (planes,) = seen
    layer = model.post_processor.upsample
    side = 2 * planes.shape[-1]
    mixing = torch.randn(layer.out_channels, planes.shape[1]) / planes.shape[1] ** 0.5
    target = F.interpolate(torch.einsum("oc,pchw->pohw", mixing, planes), size=(side, side), mode="bicubic")
    target *= 0.3 / target.std()
    middle = (torch.arange(side) + 0.5) / side * 2 - 1
    b, a = torch.meshgrid(middle, middle, indexing="ij")
    for channel, value in enumerate((a, b, a * a, b * b, a * b, a * a + b * b)):
        target[:, channel] += value
    given = F.pad(planes, (0, 0, 0, 0, 0, 1), value=1).permute(0, 2, 3, 1).flatten(0, 2)
    texels = target.reshape(3, -1, side // 2, 2, side // 2, 2).permute(0, 2, 4, 1, 3, 5)
    fitted = ridge(given, texels.flatten(3).flatten(0, 2)).reshape(-1, layer.out_channels, 2, 2)
    layer.weight.copy_(fitted[:-1])
    layer.bias.copy_(fitted[-1].mean(dim=(1, 2)))

    codes = layer(planes).reshape(1, 3, layer.out_channels, side, side)
    points = (torch.rand(60_000, 3) * 2 - 1) * RADIUS
    *_, last = model.decoder.layers
    features = []
    handle = last.register_forward_pre_hook(lambda _, inputs: features.append(inputs[0]))
    model.renderer.query_triplane(model.decoder, points, codes[0])
    handle.remove()
    x, y, z = points.T
    radius = 0.55 + 0.1 * torch.sin(7 * x) * torch.sin(6 * y + 1) + 0.08 * torch.cos(9 * z)
    logit = np.log(THRESHOLD) + 1 + 10 * (radius - points.norm(dim=1)).clamp(-0.4, 0.4)
    fitted = ridge(F.pad(torch.cat(features), (0, 1), value=1), logit[:, None])
    last.weight[0] = fitted[:-1, 0]
    last.bias[0] = fitted[-1, 0]


def ridge(given: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The linear layer [in, out] that maps `given` [n, in] closest to `target` [n, out]."""
    x, y = given.double(), target.double()
    damping = 1e-4 * x.square().mean() * len(x) * torch.eye(x.shape[1])
    return torch.linalg.solve(x.T @ x + damping, x.T @ y).float()


@torch.no_grad()
def load_reference(folder: Path) -> torch.nn.Module:
    """The reference with the weights of `model.ckpt` and the configurations of `config.yaml` and `vision.json`."""
    stub_unused_modules(folder / "vision.json")
    from tsr.system import TSR

    model = TSR(yaml.safe_load((folder / "config.yaml").read_text())).eval()
    state = torch.load(folder / "model.ckpt", map_location="cpu", mmap=True)
    model.load_state_dict({name: state[published_name(name)] for name in model.state_dict()})
    model.renderer.set_chunk_size(8192)
    return model
