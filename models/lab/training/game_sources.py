"""Packs made for games: a part of mesh_sources.py. The comments quote each license."""

from source import SCENERY, Source

GAME = SCENERY + r"|/text|_ui/|sky|arrow|letter|curtain|rug[_.]|carpet"


def _tiny_treats(pack: str, commit: str, weight: float = 2.0, leave: str = "") -> Source:
    """Models by Isa Lousberg. LICENSE.txt of each repository: "License: (Creative Commons Zero, CC0)"."""
    return Source(
        f"tiny-treats-{pack.split('-')[1].lower()}",
        f"TinyTreats-Game-Assets/Tiny-Treats-{pack}-1.0",
        commit,
        "CC0 1.0",
        "Isa Lousberg",
        "gltf",
        r"Assets/gltf/.*\.gltf$",
        GAME + leave,
        weight=weight,
    )


def _viber(name: str, pattern: str, authors: str, leave: str = "", weight: float = 1.0) -> Source:
    return Source(
        name,
        "rcbiscuitsbelfast-prog/viber3d",
        "3b648428a8f2e2b292ad7eef1f58c3a0374ae2c7",
        "CC0 1.0",
        authors,
        "gltf",
        pattern,
        GAME + leave,
        weight=weight,
    )


GAME_SOURCES = [
    # LICENSE.txt in each: "Tiny Treats - NAME (1.0) ... Isa Lousberg ... License: (Creative Commons Zero, CC0)"
    _tiny_treats("Charming-Kitchen", "094b2e12d57e2ae847a749d40f5fcd14d1eef83b", 2.5),
    _tiny_treats("Baked-Goods", "7f2ebb1c087038d115f3cb6a9bfa713e094587a0", 2.5),
    _tiny_treats("Bubbly-Bathroom", "cbad74c985e86287ade370c97d50764d30b6cb55", 2.5),
    _tiny_treats("Pleasant-Picnic", "da50c97a056fe1513413343787f2526ea7f25174", 2.5),
    _tiny_treats("Pretty-Park", "050e7ba991da7d4338d5539d35acd97134709386", 1.5),
    _tiny_treats("Homely-House", "75ad29a12b4e26dd1c7abda1e1486d6d731d8e16", 1.0),
    # LICENSE.txt: "KayKit : Prototype Bits (1.0) ... License: (Creative Commons Zero, CC0)"
    Source(
        "kaykit-prototype",
        "KayKit-Game-Assets/KayKit-Prototype-Bits-1.0",
        "bb159596f4f5106b663741d002c8eb45c80c0f41",
        "CC0 1.0",
        "Kay Lousberg",
        "gltf",
        r"Assets/gltf/.*\.gltf$",
        GAME + r"|primitive|cube_proto|pillar|target_pieces",
        weight=1.5,
    ),
    # Assets/KayKit_Forest_Nature_Pack_1.0_FREE/.../License.txt: "License: (Creative Commons Zero, CC0)"
    _viber("kaykit-forest", r"^Assets/KayKit_Forest.*/gltf/.*\.gltf$", "Kay Lousberg", weight=0.7),
    # Assets/Stylized Nature MegaKit[Standard]/License_Standard.txt: "CC0 1.0 Universal ... Models by @Quaternius"
    _viber("quaternius-stylized-nature", r"^Assets/Stylized Nature.*\.gltf$", "Quaternius", r"|path|petal", weight=0.7),
]


def _afps(name: str, pattern: str, authors: str, leave: str = "^$", weight: float = 1.0) -> Source:
    return Source(
        name,
        "atomical/afps",
        "a948c6c3959f38620ea9a4e72cfbd548c68773d1",
        "CC0 1.0",
        authors,
        "gltf",
        pattern,
        leave,
        weight=weight,
    )


GAME_SOURCES += [
    # assets/weapons/cc0/kenney_blaster_kit/License.txt: "Blaster Kit ... License: (Creative Commons Zero, CC0)"
    _afps("kenney-blaster", r"^assets/weapons/cc0/kenney_blaster_kit/Models/GLB format/.*\.glb$", "Kenney", r"^$", 1.5),
    # assets/environments/cc0/kenney_retro_urban_kit/License.txt: CC0. Only what is not a modular wall or road.
    _afps(
        "kenney-retro-urban",
        r"^assets/environments/cc0/kenney_retro_urban_kit/Models/GLB format/(detail|truck|scaffolding|pallet|balcony|bench|barrier).*\.glb$",
        "Kenney",
        r"^$",
        0.7,
    ),
    # assets/environments/cc0/kenney_city_kit_suburban_20/License.txt: CC0
    _afps(
        "kenney-suburban",
        r"^assets/environments/cc0/kenney_city_kit_suburban_20/Models/GLB format/(building|tree|planter).*\.glb$",
        "Kenney",
        r"^$",
        0.5,
    ),
    # assets/environments/cc0/kenney_city_kit_roads/License.txt: CC0. Lamps, signs, and barriers only.
    _afps(
        "kenney-street",
        r"^assets/environments/cc0/kenney_city_kit_roads/Models/GLB format/(light|sign|construction).*\.glb$",
        "Kenney",
        r"^$",
        0.7,
    ),
    # packages/assets/LICENSE.md: MIT, "Copyright (c) 2019 Amazon"; controllers of headsets, modelled for the package
    Source(
        "webxr-controllers",
        "immersive-web/webxr-input-profiles",
        "64682b217e55988495c2e355d7e214af9efd5f50",
        "MIT",
        "the authors of webxr-input-profiles",
        "gltf",
        r"^packages/assets/profiles/.*(right|none)\.glb$",
        r"generic-(button|touchpad|trigger)",  # twenty variants of one
        weight=2,
    ),
]


def _kenney(name: str, pattern: str, leave: str = "^$", weight: float = 1.0) -> Source:
    """Models by Kenney. License.txt of each pack and README.md of the repository say CC0.

    The packs of these objects of the validation set are his: carton, carton-small, pizza-box, styrofoam, knife-block,
    steamer, cake-birthday (Food Kit), chest, bottle-large, pirate-captain (Pirate Kit), tractor (Car Kit), skater
    (Animated Characters). They and close relatives are left out.
    """
    return Source(
        f"kenney-{name}",
        "ETdoFresh/kenney.nl",
        "45df48c4d45f8716216b1a9e22df0b69cd9f5932",
        "CC0 1.0",
        "Kenney",
        "gltf",
        pattern,
        leave,
        weight=weight,
    )


GAME_SOURCES += [
    # README.md: "License: (CC0 1.0 Universal) You're free to use these game assets in any project, personal or
    # commercial."; in each pack: License.txt "License: (Creative Commons Zero, CC0)"
    _kenney(
        "food",
        r"^foodKit_v1\.2/Models/GLTF format/.*\.glb$",
        r"carton|pizzabox|styrofoam|knifeblock|steamer|cake(birthday)?\.glb|cupthea|wholerham",
        2.5,
    ),
    _kenney(
        "holiday",
        r"^kenney_holidaypack/Models/GLTF format/.*\.glb$",
        r"cabin|track|lights(green|multi|red)|snowpatch",
        1.5,
    ),
    _kenney("cars", r"^carkit_v1\.4/Models/GLTF format/.*\.glb$", r"tractor", 2),
    _kenney(
        "racing",
        r"^kenney_racingkit2/Models/GLTF format/(banner|barrier(red|white)|billboard|flag|grandstand|light|overhead|pitsoffice\.|pitsgarage|pylon|racecar|radar|tent|tree).*\.glb$",
        r"_exclusive|corner",
        1.5,
    ),
    _kenney("watercraft", r"^kenney_watercraft_updated/Models/glTF/.*\.gltf$", weight=2),
    _kenney(
        "pirate", r"^kenney_piratekit_1\.1/Models/glTF format/.*\.gltf$", r"/pirate_|chest|bottle|/hole|formation", 1.5
    ),
    _kenney(
        "nature",
        r"^kenney_natureKit_2\.1/Models/GLTF format/.*\.glb$",
        r"cliff|bridge|ground|/path|fence|/grass|platform|crops_dirt|moss|bed_floor|lily|stone_(large|small|tall)",
        0.7,
    ),
    _kenney(
        "town",
        r"^fantasy-town-kit-1\.0/Models/GLTF format/(banner|cart|fountain(round|square)|hedge|lantern|rock|stall|tree|watermill|wheel|windmill).*\.glb$",
        weight=1,
    ),
    _kenney(
        "platformer",
        r"^kenney_platformerkit/Models/GLTF format/.*\.glb$",
        r"/block|fence|/platform|bridge|spikeshidden|/ladder|/cube",
        1,
    ),
    _kenney(
        "golf", r"^minigolf-kit-2\.0/Models/GLTF format/(ball|club|flag|castle|windmill|crest).*\.glb$", weight=1
    ),
    _kenney(
        "towers",
        r"^tower-defense-kit-1/Models/GLTF format/(detail|enemy|tower(round|square)_(sample|crystals)|weapon|woodstructure).*\.glb$",
        r"dirt",
        0.7,
    ),
    _kenney("hexagon", r"^kenney_hexagonkit_1/Models/GLTF format/(unit|building)_.*\.glb$", r"wall", 0.5),
    _kenney("weapons", r"^weaponpack_assets/Models/.*\.obj$", weight=1),
]

GAME_SOURCES += [
    # furniturekit_updated/License.txt: CC0. Only the models that the Furniture Pack 1.0 of mesh_sources.py lacks.
    _kenney(
        "furniture2",
        r"^furniturekit_updated/Models/GLTF format/(bathroomCabinetDrawer|bathroomSinkSquare|chairModern\w*|hood\w*|kitchenFridgeLarge|lampWall|loungeDesign\w*|pillowBlue\w*|showerRound|toaster|toiletSquare)\.glb$",
        weight=2.5,
    ),
    # kenney_graveyardkit_3/License.txt: CC0. Only what the Graveyard Kit 0.2 of mesh_sources.py lacks.
    _kenney(
        "graveyard3",
        r"^kenney_graveyardkit_3/Models/GLTF format/(altar\w*|benchDamaged|coffinOld|columnLarge|crossColumn|crossWood|debrisWood|detail\w*|digger|fireBasket|ghost|lightpost\w*|pillar\w*|pine\w*|pumpkin\w*|rocks\w*|skeleton|trunkLong|vampire|zombie)\.glb$",
        weight=1,
    ),
    # README.md: "This work is licensed under a Creative Commons Attribution 4.0 International License."
    # Files that lie on their side are left out.
    Source(
        "blender-models",
        "Zeyu-Li/free-blender-models",
        "7d9d2f386886ec7a042c8a874b53f4dc38aa7a62",
        "CC BY 4.0",
        "Zeyu Li",
        "assimp",
        r"^build/(bed|book|bookshelf|candy|chair|coffin|cup|drawer|dresser|key|lamp|low_poly_tree|pencil|satellite"
        r"|security_camera|simple_desk|sink|standing_shower|toy_car|tv|tower)\.fbx$",
        r"^$",
        weight=2,
    ),
]


def _showcase(name: str, pattern: str, leave: str = "^$", weight: float = 1.0) -> Source:
    """More folders of a repository that is already used (quaternius-home and others)."""
    return Source(
        f"quaternius-{name}",
        "trebeljahr/quaternius-showcase",
        "eab2e43a7e688dad1cc6be764c1c4ba593e1961c",
        "CC0 1.0",
        "Quaternius",
        "gltf",
        pattern,
        leave,
        weight=weight,
    )


def _older(name: str, pattern: str, weight: float, reader: str = "assimp", leave: str = "exclusive") -> Source:
    """More folders of a collection that is already used (quaternius-rooms and others)."""
    return Source(
        f"quaternius-{name}",
        "beep2bleep/FreeAssetsByKenneyNLandQuaternius",
        "dea756baf3b3a4889d8c245e456a4791f961578a",
        "CC0 1.0",
        "Quaternius",
        reader,
        f"^FreeModels by Quaternius.*/({pattern}).*\\.fbx$",
        leave,
        weight=weight,
    )


GAME_SOURCES += [
    # Same evidence as for the folders in use: Quaternius releases all his models as CC0 (gen3d-base/NOTICE.md).
    _showcase(
        "dungeon",
        r"/modular_dungeon_1/(bag|banner\.|barrel|bucket|chair|chest|coin|column|crate|pedestal|skull|statue|table|torch|vase|woodfire)[^/]*\.glb$"
        r"|/modular_dungeon_pack/(barrel|bones|book|candelabrum|candle|chest|column|potion|torch)[^/]*\.glb$",
        weight=1.5,
    ),
    _showcase("scifi-props", r"/modular_sci_fi/(props|column)[^/]*\.glb$", r"props_base", 1),
    _showcase("street", r"/street_pack/(sign|streetlight|trafficlight)[^/]*\.glb$", weight=0.7),
    # The materials of some of these older files are lost: animals, fruit, and the RPG and pirate items are grey.
    _older("static-animals", "Animal Pack Vol|Animals Pack", 1.5),
    _older("fruit-figures", "Fruit Characters", 1.5, leave="exclusive|flatshaded"),
    _older("old-guns", "Sci-Fi Guns", 1),
    _older("old-rpg", "RPG Asset Pack|Pirate Pack", 1, leave="exclusive|animated|gems|/cannon"),
    _older("old-buildings", "Civilization|Farm Buildings", 0.5, leave="exclusive|fence"),
    _older("old-nature", r"\.?Nature Pack Essentials", 0.7, leave="exclusive|grass"),
]

GAME_SOURCES += [
    # README.md: "If not specified, every file in this repo has to be considered under Creative Commons By 4.0 licence."
    Source(
        "babylon-meshes",
        "BabylonJS/MeshesLibrary",
        "1e0c5cdbdfec7b632b9aa1f498f7016b0d210779",
        "CC BY 4.0",
        "the Babylon.js community",
        "gltf",
        r"^(ExplodingBarrel|seagulf)\.glb$|^Demos/weaponsDemo/meshes/(frostAxe|moltenDagger|runeSword)\.glb$"
        r"|^vintageDeskFan/.*\.gltf$",
        r"^$",
        weight=1.5,
    ),
    # README.md: "Assets included in this package (2D sprites, 3D models and sound effects) are CC0 licensed". Vehicles.
    Source(
        "kenney-karts",
        "KenneyNL/Starter-Kit-Racing",
        "2f2e5f2646dda89cb21d4e8539bab60c6e955dc8",
        "CC0 1.0",
        "Kenney",
        "gltf",
        r"^models/.*vehicle.*\.glb$",
        r"^$",
        weight=1,
    ),
]


def _small(name: str, origin: str, commit: str, pattern: str, weight: float) -> Source:
    return Source(f"kenney-{name}", origin, commit, "CC0 1.0", "Kenney", "gltf", pattern, "^$", weight=weight)


GAME_SOURCES += [
    # docs/credits.md: "Kenney 3D Models ... Train Kit ... City Kit (Commercial) ... License: CC0". The furniture there
    # is in the Furniture Kit above; the characters resemble the skater of the validation set.
    _small(
        "trains",
        "nickesc/4ajs",
        "6e2d210a0f6ad332b4a02983f38c6b1035f0620c",
        r"^models/(clark/train-.*|platformer/city/.*)\.glb$",
        0.7,
    ),
    # README.md of each starter kit: "Assets included in this package (2D sprites, 3D models and sound effects) are CC0
    # licensed"
    _small(
        "starter-platformer",
        "KenneyNL/Starter-Kit-3D-Platformer",
        "3fa8a04b1c01ab23db43123d4ce814a34c3fc7f0",
        r"^models/(character|cloud|coin|flag|block-coin)\.glb$",
        1,
    ),
    _small(
        "starter-shooter",
        "KenneyNL/Starter-Kit-FPS",
        "cc46ba7b2b14275916429df7fdf7692f431902f2",
        r"^models/(blaster-repeater|blaster|enemy-flying)\.glb$",
        1,
    ),
    _small(
        "starter-city",
        "KenneyNL/Starter-Kit-City-Builder",
        "48458e6f343d6369ac015c77476eb262b964df2b",
        r"^models/(building|grass-trees).*\.glb$",
        0.5,
    ),
]
