"""The procedural recipes, how often each is drawn, and variations that apply to all."""

from collections.abc import Callable, Sequence

import numpy as np

from household import HOUSEHOLD
from primitive import WIDTH
from shapes import (
    FAR_AWAY,
    Draw,
    Shape,
    armchair,
    bag,
    bed,
    bird,
    blob,
    bottle,
    boxy,
    cabinet,
    chair,
    craft,
    creature,
    cup,
    figure,
    food,
    house,
    instrument,
    lamp,
    plant,
    rod,
    rounds,
    shelf,
    shoe,
    slab,
    table,
    tool,
    turn,
    vehicle,
    vessel,
)

Recipe = Callable[[Draw], Shape]
# Name of the recipe, solid [P,WIDTH], hollow [N,WIDTH], material [P], blend, stretch [3].
Drawn = tuple[str, np.ndarray, np.ndarray, np.ndarray, float, np.ndarray]

# Recipes and weights. Furniture and vessels weigh most, because shops photograph them most.
RECIPES = [
    (chair, 3.0),
    (armchair, 2.0),
    (table, 2.0),
    (bed, 0.8),
    (cabinet, 2.2),
    (shelf, 1.0),
    (vessel, 1.8),
    (cup, 1.8),
    (bottle, 1.3),
    (lamp, 1.2),
    (boxy, 2.5),
    (creature, 1.8),
    (bird, 0.7),
    (figure, 1.8),
    (vehicle, 1.6),
    (craft, 0.9),
    (shoe, 1.0),
    (bag, 0.9),
    (plant, 0.9),
    (food, 0.9),
    (tool, 1.0),
    (rod, 1.2),
    (slab, 1.2),
    (rounds, 0.9),
    (house, 0.8),
    (instrument, 0.5),
    (blob, 3.0),
    *HOUSEHOLD,
]
WEIGHTS = np.array([weight for _, weight in RECIPES]) / sum(weight for _, weight in RECIPES)


def draw_recipe(rng: np.random.Generator, only: Sequence[str] | None = None) -> Drawn:
    """Draws one of all recipes by weight, or of those named in `only` with equal chances."""
    if only:
        name = rng.choice(only)
        return finish(next(recipe for recipe, _ in RECIPES if recipe.__name__ == name), rng)
    return finish(RECIPES[int(rng.choice(len(RECIPES), p=WEIGHTS))][0], rng)


def finish(recipe: Recipe, rng: np.random.Generator) -> Drawn:
    """Draws a shape of this recipe and stretches it."""
    draw = Draw(rng)
    shape = recipe(draw)
    stretch = random_stretch(rng)
    # Any object may lie on its side.
    if draw.chance(0.04):
        turn(shape, draw.turn())
    hollow = shape.hollow or [FAR_AWAY]
    solid = np.stack(shape.solid)
    return recipe.__name__, solid, np.stack(hollow).reshape(-1, WIDTH), np.array(shape.material), shape.blend, stretch


def random_stretch(rng: np.random.Generator) -> np.ndarray:
    """Stretch factors along the axes. -> float32 [3]

    Mostly near 1. A quarter of all objects are much flatter, deeper or taller, because networks guess usual proportions
    even where the photo shows others: boxes seen from the front became slabs, and flat ones became too steep.
    """
    most = np.log(1.8 if rng.random() < 0.25 else 1.18)
    return np.exp(rng.uniform(-most, most, 3)).astype(np.float32)
