"""Writes the checkpoints of this folder, with values 0, 1, 2, ... that a test can compute.

The files are those of PyTorch 2.13 and safetensors 0.8.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file

here = Path(__file__).parent


def counting(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)


def layers() -> torch.nn.Module:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(counting(*parameter.shape))
    return model


torch.save(layers().state_dict(), here / "layers.ckpt")
torch.save(layers().state_dict(), here / "protocol-4.ckpt", pickle_protocol=4)
torch.save(layers().state_dict(), here / "before-1.6.ckpt", _use_new_zipfile_serialization=False)
torch.save(layers(), here / "module.ckpt")
table = counting(6, 2, dtype=torch.float16)
nested = {
    "epoch": 3,
    "state_dict": {
        "parameter": torch.nn.Parameter(counting(2, 2)),
        "scalar": torch.tensor(7, dtype=torch.int64),
        "half": table,
        "tied": table,
        "rows": table[2:4],
        "column": table[:, :1].contiguous(),
        "empty": torch.zeros(0, 5),
        "brain": counting(1, 3, dtype=torch.bfloat16),
    },
}
torch.save(nested, here / "nested.ckpt")
torch.save({"transposed": counting(2, 3).T}, here / "transposed.ckpt")
save_file(layers().state_dict(), here / "layers.safetensors", metadata={"format": "pt"})
