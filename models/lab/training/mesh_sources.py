"""The repositories of the meshes: see models/gen3d-base/NOTICE.md. Their licenses require attribution at most.

Never add anything from `sweethome3d-furniture` (the benchmark), from MORSE or market.pmnd.rs (validation), or from the
YCB and Google Scanned Objects sets.
"""

from game_sources import GAME_SOURCES
from simulator_sources import SIMULATOR_SOURCES
from source import SCENERY, Source


def _kaykit(pack: str, commit: str, weight: float = 1.0) -> Source:
    leave = SCENERY + r"|rug|/hex_|bridge|character.*animation"
    return Source(
        f"kaykit-{pack.split('-')[0].lower()}",
        f"KayKit-Game-Assets/KayKit-{pack}-1.0",
        commit,
        "CC0 1.0",
        "Kay Lousberg",
        "gltf",
        r"\.(gltf|glb)$",
        leave,
        weight=weight,
    )


def _quaternius(
    name: str, pattern: str, leave: str = "", each: int = 45, weight: float = 1.0, reader: str = "gltf"
) -> Source:
    """Models by Quaternius, all released as CC0. The repository shows them on a page."""
    leave = (
        SCENERY
        + r"|modular_(dungeon|medieval|sci_fi/)|carpet|curtain|mirror|towel|grass|numbers_|arrow|cloud|planet|window"
        + leave
    )
    return Source(
        f"quaternius-{name}",
        "trebeljahr/quaternius-showcase",
        "eab2e43a7e688dad1cc6be764c1c4ba593e1961c",
        "CC0 1.0",
        "Quaternius",
        reader,
        pattern,
        leave,
        each,
        weight,
    )


def _quaternius_fbx(name: str, pattern: str, weight: float, reader: str = "assimp") -> Source:
    """Older models by Quaternius, from a collection that also has models by others and some for supporters only.

    Both are left out.
    """
    commit = "dea756baf3b3a4889d8c245e456a4791f961578a"
    return Source(
        f"quaternius-{name}",
        "beep2bleep/FreeAssetsByKenneyNLandQuaternius",
        commit,
        "CC0 1.0",
        "Quaternius",
        reader,
        f"^FreeModels by Quaternius.*/({pattern}).*\\.fbx$",
        "exclusive|hairstyles",
        weight=weight,
    )


def _kenney(name: str, pattern: str, weight: float) -> Source:
    """Models by Kenney, all released as CC0. Twelve objects of the validation set are his, from other packs.

    Two of these are cartons, so cartons are left out.
    """
    return Source(
        f"kenney-{name}",
        "beep2bleep/FreeAssetsByKenneyNLandQuaternius",
        "dea756baf3b3a4889d8c245e456a4791f961578a",
        "CC0 1.0",
        "Kenney",
        "assimp",
        f"^Kenny NL Assets/{pattern} .*\\.fbx$",
        SCENERY + "|cardboard|carton|rug|block|border|mirror|curtain",
        weight=weight,
    )


SOURCES = [
    Source(
        "aws-house",
        "aws-robotics/aws-robomaker-small-house-world",
        "dd44be6205b2e6577bf641300dacc1699cb2ca81",
        "MIT-0",
        "Amazon.com, Inc.",
        "assimp",
        r"models/.*\.dae$",
        SCENERY + "|carpet|window|curtain|quilt|portrait[b-z]|deskportrait[b-z]",
        weight=2.5,
    ),
    Source(
        "aws-hospital",
        "aws-robotics/aws-robomaker-hospital-world",
        "39969a9d250135835cf13b480865647d1a87b6f4",
        "MIT-0",
        "Amazon.com, Inc.",
        "assimp",
        r"models/.*\.dae$",
        SCENERY + "|curtain",
        weight=2,
    ),
    Source(
        "aws-bookstore",
        "aws-robotics/aws-robomaker-bookstore-world",
        "ed542eb41809d5c5f1c67f32d4ba24e0e90886b3",
        "MIT-0",
        "Amazon.com, Inc.",
        "assimp",
        r"models/.*\.dae$",
        SCENERY,
        weight=2,
    ),
    Source(
        "aws-warehouse",
        "aws-robotics/aws-robomaker-small-warehouse-world",
        "3c23a698bf0b4e366ddf8b084af507c519bd3483",
        "MIT-0",
        "Amazon.com, Inc.",
        "assimp",
        r"models/.*\.dae$",
        SCENERY,
        weight=1.5,
    ),
    Source(
        "gazebo",
        "osrf/gazebo_models",
        "8163eb4b5e7e21985c6591d1c0bfb56468c0093f",
        "CC BY 3.0",
        "Nathan Koenig, Open Source Robotics Foundation",
        "assimp-z-up",
        r"\.(dae|obj)$",
        SCENERY
        + r"|^pr2|pioneer|willowgarage|heightmap|valley|interchange|pit/|first_office|apartment|_field|spectrum"
        + r"|powerplant|school/|house_\d|sun/|laptop",
        each=4,
        weight=1.5,
    ),
    _kaykit("Furniture-Bits", "96d5930a8dbdb363409bbc2d3341718b00e17c9c", weight=2.5),
    _kaykit("Restaurant-Bits", "153c8a7535b48237854cb54ff6890679f8c574d1", weight=2),
    _kaykit("Dungeon-Remastered", "b0ca9bd96a8072ab36a3a5464f00ed1e06a16d07", weight=1.5),
    _kaykit("Halloween-Bits", "6dc69bf6b2fa766a985754f35ec6a0324090e6c6"),
    _kaykit("City-Builder-Bits", "63976910ca04d16f0fc531b9c614244be8128713"),
    _kaykit("Space-Base-Bits", "6dfbcac9927d06283752c4defd4882cfe0d29666"),
    Source(
        "kaykit-adventurers",
        "KayKit-Game-Assets/KayKit-Character-Pack-Adventures-1.0",
        "672074b73ba276876a19e8816ecdc5241817ab47",
        "CC0 1.0",
        "Kay Lousberg",
        "gltf",
        r"\.(gltf|glb)$",
    ),
    Source(
        "kaykit-skeletons",
        "KayKit-Game-Assets/KayKit-Character-Pack-Skeletons-1.0",
        "15b62b9bad122f72926c10fb14d622c73819fa54",
        "CC0 1.0",
        "Kay Lousberg",
        "gltf",
        r"\.(gltf|glb)$",
    ),
    Source(
        "kaykit-poses",
        "KayKit-Game-Assets/KayKit-Character-Pack-Adventures-1.0",
        "672074b73ba276876a19e8816ecdc5241817ab47",
        "CC0 1.0",
        "Kay Lousberg",
        "poses",
        r"characters/.*\.glb$",
        each=16,
        weight=2,
    ),
    Source(
        "kaykit-hexagon",
        "KayKit-Game-Assets/KayKit-Medieval-Hexagon-Pack-1.0",
        "84fa4e91af6a88989be7c99e0891cede11f2ca38",
        "CC0 1.0",
        "Kay Lousberg",
        "gltf",
        r"\.(gltf|glb)$",
        SCENERY + "|/hex_|tiles/",
        weight=0.7,
    ),
    _quaternius(
        "home", r"/house_interior_pack/.*\.glb$", r"|door|column|light_ceiling|chandelier", each=200, weight=2.5
    ),
    _quaternius(
        "items",
        r"/(rpg_items|survival|medieval_weapons|single_knight)_pack/.*\.glb$",
        r"|ring\d|necklace|knightcharacter",
        each=80,
        weight=2,
    ),
    _quaternius("crops", r"/(crops|simple_nature|nature)_pack/.*\.glb$", r"|rice|wheat|_dead", each=30),
    _quaternius("vehicles", r"/(spaceships|tank|ships)_pack/.*\.glb$", weight=2),
    _quaternius(
        "games",
        r"/(platformer|platformer_game|cyberpunk|ultimate_space|modular_sci_fi_guns)_pack/.*\.glb$",
        r"|rover|character|astronaut|enemy|bee|crab|mech_|-transformed",
        each=40,
    ),
    _quaternius(
        "people",
        r"/(modular_men|modular_women|single_knight_pack/KnightCharacter|(platformer_game|cyberpunk|easy_enemies)_pack/(character|enemy))[^/]*(/[^/]*)?\.glb$",
        each=10,
        weight=3,
        reader="poses",
    ),
    _quaternius("animals", r"/(animals|dinosaurs|easy_enemies)_pack/.*\.glb$", each=8, weight=3, reader="poses"),
    _quaternius("fish", r"/(cute_fish|fish)_pack/.*\.glb$", r"|rod|bait|dock|lure", each=1, weight=0.7, reader="poses"),
    _quaternius("robots", r"/(mech_pack/.*|platformer_game_pack/(bee|crab))\.glb$", each=8, reader="poses"),
    _quaternius_fbx("posed", "posed background characters|farm animals", weight=3),
    _quaternius_fbx("rooms", "furniture pack|junk food|holiday pack", weight=2),
    _quaternius_fbx("traffic", "basic car|public transport|train pack|airplane pack|ship pack", weight=2),
    _quaternius_fbx("cars", "realistic car", weight=1, reader="assimp-z-up"),
    _quaternius(
        "houses",
        r"/(real_time_strategy|buildings_pack_2|buildings_pack_3|medieval_village)(_pack)?/.*\.glb$",
        each=16,
        weight=0.7,
    ),
    Source(
        "base-meshes",
        "M3-org/base-meshes",
        "2b944200d24c8a7caf698257a3047619d3ab9268",
        "CC0 1.0",
        "Tim Steer",
        "gltf",
        r"\.glb$",
        r"reticle|loading_icon|banner_ui|packing_peanuts|cardboard",
        weight=2.5,
    ),
    _kenney("furniture", "Furniture Pack", 2.5),
    _kenney("games", "(Space|Castle|Graveyard) Kit", 0.7),
    Source(
        "bullet",
        "bulletphysics/bullet3",
        "6c888f4abd7b46f572587360cc214985f02e5c6b",
        "zlib",
        "the authors of Bullet",
        "assimp-z-up",
        r"pybullet_data/random_urdfs/\d+/\d\d[02468]\.obj$",
        weight=0.4,
    ),
    Source(
        "poly-haven",
        "RobotLocomotion/models",
        "4723170e1c8ee8bc59c342bb5c491ab8f263f1fb",
        "CC0 1.0",
        "Poly Haven",
        "gltf",
        r"tutorials/models/assets/.*_1k\.gltf$",
        weight=1.5,
    ),
    *GAME_SOURCES,
    *SIMULATOR_SOURCES,
]
