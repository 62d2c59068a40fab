"""Which procedural things there are, how often each is drawn, and what any of them may undergo."""

import numpy as np

from household import HOUSEHOLD
from primitive import WIDTH
from shapes import FAR_AWAY, Draw, armchair, bag, bed, bird, blob, bottle, boxy, cabinet, chair, craft, creature, cup, figure, food, house, instrument, lamp, plant, rod, rounds, shelf, shoe, slab, table, tool, vehicle, vessel, turn

# Recipe and weight: furniture and vessels most, since those are what shops photograph most.
RECIPES = [
    (chair, 3.0), (armchair, 2.0), (table, 2.0), (bed, 0.8), (cabinet, 2.2), (shelf, 1.0),
    (vessel, 1.8), (cup, 1.8), (bottle, 1.3), (lamp, 1.2), (boxy, 2.5), (creature, 1.8), (bird, 0.7), (figure, 1.8),
    (vehicle, 1.6), (craft, 0.9), (shoe, 1.0), (bag, 0.9), (plant, 0.9), (food, 0.9), (tool, 1.0), (rod, 1.2), (slab, 1.2),
    (rounds, 0.9), (house, 0.8), (instrument, 0.5), (blob, 3.0), *HOUSEHOLD,
]  # fmt: skip
WEIGHTS = np.array([weight for _, weight in RECIPES]) / sum(weight for _, weight in RECIPES)


def draw_thing(rng, only=None):
    """Of all recipes, or of those named in `only`, each as likely.

    -> (name of the recipe, solid [P,WIDTH], hollow [N,WIDTH], material [P], blend, stretch [3])
    """
    if only:
        name = rng.choice(only)
        return finish(next(recipe for recipe, _ in RECIPES if recipe.__name__ == name), rng)
    return finish(RECIPES[int(rng.choice(len(RECIPES), p=WEIGHTS))][0], rng)


def finish(recipe, rng):
    d = Draw(rng)
    t = recipe(d)
    # Any object may be stretched along its own axes and, rarely, lie tipped over.
    stretch = np.array([d(0.85, 1.18), d(0.85, 1.18), d(0.85, 1.18)], np.float32)
    if d.chance(0.04):
        turn(t, d.turn())
    hollow = t.hollow or [FAR_AWAY]
    solid = np.stack(t.solid)
    return recipe.__name__, solid, np.stack(hollow).reshape(-1, WIDTH), np.array(t.material), t.blend, stretch
