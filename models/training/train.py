"""Trains the network, from nothing or from where it stopped.

    python train.py RUN --preset cpu --data FOLDER... --minutes 60         # from shards that generate.py writes
    python train.py RUN --preset cpu --data FOLDER --minutes 20 --finish   # lets the rate fall to nothing at the end

RUN is a folder: `state.pt` holds all that is needed to go on, `weights.pt` the averaged weights alone in half precision.
A run that is started again goes on from state.pt, or from weights.pt alone where only that was kept.
"""

import argparse
import contextlib
import copy
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from dataset import Shards, disturb, mirror, targets
from model import build
from photograph import HALF_DEPTH
from presets import PRESETS

WARM_UP = 300
AVERAGE = 0.999


def losses(answer, photos, crossings, backs, elevations, steps):
    front, there, full = targets(crossings, steps)
    depth, logits, back, elevation = (a.float() for a in answer)
    area = there.sum((1, 2)).clamp(min=1)
    per_pixel = lambda error: ((error * there).sum((1, 2)) / area).mean()  # noqa: E731
    apart = HALF_DEPTH * (depth - front)
    # Where in the box the thing stands cannot be seen and hardly shows in the result; its relief does.
    shift = ((apart * there).sum((1, 2)) / area)[:, None, None]
    # Slopes: normals matter more to the eye than depth, and a step between two parts must not be smoothed away.
    slope = 0
    for axis in (1, 2):
        both = there.narrow(axis, 1, there.shape[axis] - 1) * there.narrow(axis, 0, there.shape[axis] - 1)
        slope = slope + ((apart.diff(dim=axis).abs() * both).sum((1, 2)) / area).mean()
    bce = F.binary_cross_entropy_with_logits(logits, full, reduction="none").mean(1)
    p = logits.sigmoid() * there[:, None]
    overlap = (2 * (p * full).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + full.sum((1, 2, 3)) + 1)
    colour = (back.sigmoid() - backs).abs().mean(1)
    parts = {
        "shift": shift.abs().mean(), "depth": per_pixel((apart - shift).abs()), "slope": slope, "bce": per_pixel(bce), "dice": (1 - overlap).mean(),
        "colour": per_pixel(colour), "look": (elevation - elevations).abs().mean(),
    }  # fmt: skip
    weights = {"shift": 0.3, "depth": 2.5, "slope": 1.5, "bce": 2.0, "dice": 0.5, "colour": 1.0, "look": 0.5}
    return sum(weights[key] * part for key, part in parts.items()), parts


def measure(net, data, preset, device, count=240):
    """Losses on samples that training never sees, undisturbed, and the intersection over union of the columns."""
    rng, sums = np.random.default_rng(0), {}
    with torch.no_grad():
        for _ in range(count // preset.batch):
            photos, crossings, backs, elevations = (a.to(device) for a in data.batch(rng, preset.batch))
            image = torch.cat([photos[:, :3] * photos[:, 3:] + 0.5 * (1 - photos[:, 3:]), photos[:, 3:]], 1)
            answer = net(image)
            _, parts = losses(answer, image, crossings, backs, elevations, preset.steps)
            _, there, full = targets(crossings, preset.steps)
            a, b = (answer[1] > 0) & (there[:, None] > 0), full > 0.5
            parts["iou"] = ((a & b).sum((1, 2, 3)) / (a | b).sum((1, 2, 3)).clamp(min=1)).float().mean()
            for key, part in parts.items():
                sums[key] = sums.get(key, 0) + float(part)
    return {key: round(total / (count // preset.batch), 4) for key, total in sums.items()}


def restore(run, net, average, optimiser, device="cpu"):
    """Loads what the run's folder holds. -> the step it was at, and the step from which Adam has gathered its moments"""
    if (run / "state.pt").exists():
        state = torch.load(run / "state.pt", map_location=device)
        net.load_state_dict(state["net"])
        average.load_state_dict(state["average"])
        optimiser.load_state_dict(state["optimiser"])
        return state["step"], state.get("since", 0)
    if (run / "weights.pt").exists():
        state = torch.load(run / "weights.pt", map_location=device)
        net.load_state_dict({key: value.float() for key, value in state["average"].items()})
        average.load_state_dict(net.state_dict())
        return state["step"], state["step"]
    return 0, 0


def warmed(step, since):
    """Share of the full rate: Adam's first steps, on moments of a few batches, must be small, whether the weights are new or not."""
    return min(1, (step - since + 1) / WARM_UP)


def main(chosen):
    torch.manual_seed(chosen.seed)
    torch.set_num_threads(chosen.threads)
    torch.set_float32_matmul_precision("high")
    preset, device, run = PRESETS[chosen.preset], torch.device(chosen.device), Path(chosen.run)
    run.mkdir(parents=True, exist_ok=True)
    held_out = f"{chosen.held_out:05d}"
    data, unseen = Shards(*chosen.data, skip=held_out), Shards(*chosen.data, only=held_out)
    net = build(preset).to(device)
    if device.type == "cpu":
        net = net.to(memory_format=torch.channels_last)
    average = copy.deepcopy(net)
    optimiser = torch.optim.AdamW(net.parameters(), lr=preset.peak_rate, weight_decay=0.01, betas=(0.9, 0.98))
    step, since = restore(run, net, average, optimiser, device)
    rng = np.random.default_rng((chosen.seed, step))
    half = torch.autocast(device.type, dtype=torch.bfloat16)
    forward, score = (torch.compile(net), torch.compile(losses)) if chosen.compile else (net, losses)

    def save():
        state = {"net": net.state_dict(), "average": average.state_dict(), "optimiser": optimiser.state_dict(), "step": step, "since": since, "preset": chosen.preset}
        torch.save(state, run / "state.tmp")
        (run / "state.tmp").rename(run / "state.pt")
        torch.save({"average": {key: value.half() for key, value in average.state_dict().items()}, "step": step, "preset": chosen.preset}, run / "weights.pt")

    started, first, means = time.time(), step, {}
    while (passed := (time.time() - started) / 60 / chosen.minutes) < 1:
        if (step - first) % 200 == 0:
            data.refresh()
        rate = chosen.rate * preset.peak_rate * warmed(step, since)
        if chosen.finish:
            rate *= 0.5 + 0.5 * math.cos(math.pi * passed)
        for group in optimiser.param_groups:
            group["lr"] = rate
        photos, crossings, backs, elevations = (a.to(device) for a in data.batch(rng, preset.batch))
        photos, crossings, backs = mirror(photos, crossings, backs)
        image = disturb(photos)
        if device.type == "cpu":
            image = image.contiguous(memory_format=torch.channels_last)
        with half if chosen.half else contextlib.nullcontext():
            answer = forward(image)
        loss, parts = score(answer, image, crossings, backs, elevations, preset.steps)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        step += 1
        keep = min(AVERAGE, (step + 1) / (step + 20))
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(net.parameters()), 1 - keep)
        for key, part in parts.items():
            value = float(part.detach())
            means[key] = means.get(key, value) * 0.98 + value * 0.02
        if step % 50 == 0:
            print(step, len(data), f"{(time.time() - started) / 60:.1f} min", {k: round(v, 4) for k, v in means.items()}, flush=True)
        if step % 500 == 0:
            save()
            if len(unseen):
                print("unseen", step, measure(average, unseen, preset, device), flush=True)
    save()
    if len(unseen):
        print("unseen", step, measure(average, unseen, preset, device), flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run")
    options.add_argument("--preset", choices=PRESETS, default="cpu")
    options.add_argument("--data", required=True, nargs="+", help="folders of shards")
    options.add_argument("--minutes", type=float, required=True)
    options.add_argument("--rate", type=float, default=1, help="times the preset's learning rate")
    options.add_argument("--finish", action="store_true")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--held-out", type=int, default=0, help="the shard that is only measured on")
    options.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True)
    options.add_argument("--half", action=argparse.BooleanOptionalAction, default=True)
    main(options.parse_args())
