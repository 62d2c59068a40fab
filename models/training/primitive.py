"""One signed distance function that can be most parts of most things.

A part is a row of `WIDTH` numbers: a rounded prism in a frame of its own (box, plate, cylinder, cone, ball, pillow),
optionally tapered, bent, hollowed to a shell, revolved to a ring, or cut by a plane. Photos are taken with the same formula
in photograph.cpp, which the tests compare with the one here. The distances are exact for plain prisms and bounds
below the true distance for the rest, close enough for sphere tracing with a careful step.

Distance formulas after Inigo Quilez, "3D SDFs" (https://iquilezles.org/articles/distfunctions/).
"""

import numpy as np
import torch

CENTRE = slice(0, 3)
FRAME = slice(3, 12)  # rows: the part's axes in object space
HALF = slice(12, 15)
CORNER, EDGE, TAPER, BEND, SHELL = 15, 16, 17, 18, 19
STRETCH = slice(20, 23)
RING = 23
CUT = slice(24, 28)  # normal and offset in the part's frame: what lies beyond is cut away
WIDTH = 28


def part(centre, half, *, corner=0.0, edge=0.0, frame=None, taper=0.0, bend=0.0, shell=0.0, stretch=(1, 1, 1), ring=0.0, cut=None):
    """One part as a row of numbers.

    corner: radius of the vertical edges (the cross-section's corners); edge: radius of the top and bottom rims.
    taper: -1..1, how much wider the cross-section is at the top than in the middle. shell: half the wall's thickness, 0 is solid.
    """
    row = np.zeros(WIDTH, np.float32)
    half = np.asarray(half, np.float32)
    row[CENTRE] = centre
    row[FRAME] = (np.eye(3, dtype=np.float32) if frame is None else np.asarray(frame, np.float32)).reshape(-1)
    row[HALF] = half
    row[CORNER] = min(corner, half[0], half[2])
    row[EDGE] = min(edge, half[1], half[0], half[2])
    row[TAPER], row[BEND], row[SHELL], row[RING] = taper, bend, shell, ring
    row[STRETCH] = stretch
    row[CUT] = (0, 0, 0, 10) if cut is None else cut
    return row


def _distances(parts, x, y, z):
    """parts [B,P,WIDTH], x, y, z [B,M] -> distances [B,P,M], negative inside."""
    p = [column.unsqueeze(-1) for column in parts.unbind(-1)]
    dx, dy, dz = x.unsqueeze(1) - p[0], y.unsqueeze(1) - p[1], z.unsqueeze(1) - p[2]
    qx = (p[3] * dx + p[4] * dy + p[5] * dz) / p[20]
    qy = (p[6] * dx + p[7] * dy + p[8] * dz) / p[21]
    qz = (p[9] * dx + p[10] * dy + p[11] * dz) / p[22]
    beyond = p[24] * qx + p[25] * qy + p[26] * qz - p[27]
    height = qy / p[13]
    qx = qx - p[18] * height * height
    is_ring = p[23] > 0
    around = (qx * qx + qy * qy + 1e-12).sqrt() - p[23]
    qx = torch.where(is_ring, around, qx)
    qy = torch.where(is_ring, torch.zeros_like(qy), qy)
    scale = (1 + p[17] * (qy / p[13]).clamp(-1.3, 1.3)).clamp(min=0.05)
    u = qx.abs() / scale - (p[12] - p[15])
    v = qz.abs() / scale - (p[14] - p[15])
    flat = (u.clamp(min=0) ** 2 + v.clamp(min=0) ** 2 + 1e-12).sqrt() + torch.maximum(u, v).clamp(max=0) - p[15]
    a = flat * scale.clamp(max=1) + p[16]
    b = qy.abs() - p[13] + p[16]
    d = (a.clamp(min=0) ** 2 + b.clamp(min=0) ** 2 + 1e-12).sqrt() + torch.maximum(a, b).clamp(max=0) - p[16]
    d = torch.where(p[19] > 0, (d + p[19]).abs() - p[19], d)
    d = torch.maximum(d, beyond)
    return d * torch.minimum(torch.minimum(p[20], p[21]), p[22])


def field(solid, hollow, blend, x, y, z):
    """The smooth union of `solid` [B,P,WIDTH] less `hollow` [B,N,WIDTH]; blend [B]: width of the seams. -> [B,M]"""
    d = _distances(solid, x, y, z)
    nearest = d.amin(1)
    k = blend.unsqueeze(-1)
    union = nearest - k * torch.log(torch.exp((nearest.unsqueeze(1) - d) / k.unsqueeze(1)).sum(1))
    return torch.maximum(union, -_distances(hollow, x, y, z).amin(1))


def nearest(solid, x, y, z):
    """Which part is nearest at each point. -> [B,M]"""
    return _distances(solid, x, y, z).argmin(1)
