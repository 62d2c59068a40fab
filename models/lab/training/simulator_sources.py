"""Meshes of robotics simulators, scans, CAD libraries and sample models: a part of mesh_sources.py."""

from source import SCENERY, Source

SIMULATOR_SOURCES = [
    # LICENSE is Apache-2.0; model.config names OSRF staff (Biesemeyer, Poubel, Salem, Koenig). One SketchUp table is left
    # out.
    Source(
        "servicesim",
        "osrf/servicesim",
        "57992bb0e47e4a28f94dbf44e8eed543d77fe039",
        "Apache-2.0",
        "Open Source Robotics Foundation",
        "assimp-z-up",
        r"servicesim_competition/models/.*\.(dae|obj)$",
        SCENERY + r"|animation|skin_|counter_no_sink|door_(door|frame)|office_cafe_table",
        weight=2.5,
    ),
    # LICENSE.txt is CC0 1.0; README: "These assets have been per September 2020 been released under
    # Creative Commons CC0 universal." Shoes, hats, suits, hair, bodies.
    Source(
        "makehuman-assets",
        "makehumancommunity/makehuman-assets",
        "8cf9645b975a98eea056b140df11a1d278da0d10",
        "CC0 1.0",
        "the MakeHuman team",
        "assimp",
        r"base/(clothes|proxymeshes|hair)/.*\.obj$",
        "debug|proxy741",
        weight=2,
    ),
    # objects/*/README.md states a license for each object; only CC BY 3.0/4.0, CC0 and public domain
    # are selected here.
    Source(
        "odedstein-meshes",
        "odedstein/meshes",
        "835213277571d625722d25880c9c3010c6f45a5a",
        "CC BY 4.0, CC BY 3.0, CC0 1.0 or public domain, see objects/*/README.md",
        "Oded Stein and the authors named in objects/*/README.md",
        "assimp",
        r"objects/(boat|boot|cat|cheese|demosthenes|fish|goathead|hammer|koala|parsnip|penguin|pizza|plane"
        r"|scorpion|skull|spot|sword|tree|violin|wingnut)/.*\.obj$",
        r"control_mesh|_hr|plane_holes|(fish|koala|scorpion|skull|spot)_low_resolution",
        weight=2,
    ),
    # README: "All Parts in this repository are licensed under CC-BY 3.0". An early fork of
    # FreeCAD/FreeCAD-library, which is too large to fetch. No colors (STL).
    Source(
        "freecad-library",
        "j-wiedemann/FreeCAD-library",
        "15febd8c800be7c6a94fdbda42dcdfb222d7162a",
        "CC BY 3.0",
        "the contributors of FreeCAD-library",
        "assimp-z-up",
        r"(furniture|generic objects|electrical parts|shipping|wood construct|piping|mechanical parts)/.*\.stl$",
        r"steel-sheets|servo_rod|screw",
        each=12,
        weight=0.7,
    ),
    # complete/ldraw/CAreadme.txt and CAlicense.txt (CC BY 2.0); only files whose header says "Redistributable
    # under CCAL version 2.0" or CC BY 4.0 are converted, by scout_b_ldraw.py (complete/ldraw and models of the
    # repository, names of franchises left out) to the folder ldraw-toys; ldraw-figures, -sets and -animals link to it.
    *(
        Source(
            name,
            "gkjohnson/ldraw-parts-library",
            "1f24cac1821b9a86a5a84cd3a40291aad24679b3",
            "CC BY 2.0",
            "the contributors of the LDraw Parts Library",
            "gltf",
            pattern,
            leave,
            weight=weight,
        )
        for name, pattern, leave, weight in (
            # Toy figures, dressed at random or of one piece.
            ("ldraw-figures", r"^(person|figure|maxifig)/.*\.glb$", r"bust|hair|-arm-|-leg-|wheel", 1),
            # Whole models and modules of sets: vehicles, small buildings, figures.
            ("ldraw-sets", r"^set/.*\.glb$", r"baseplate|wall|road", 1),
            ("ldraw-animals", r"^(animal|plant)/.*\.glb$", r"-(body|wing|tail|leg|arm|head)-", 1.2),
            # Toy tools, hats, food, kitchenware, motors, parts of vehicles.
            (
                "ldraw-toys",
                r"\.glb$",
                r"^(person|figure|maxifig|set|animal|plant|fence|staircase|glass|tail)/|baby",
                1,
            ),
        )
    ),
    # LICENSE is CC BY 4.0; README: "These models are licensed under Creative Commons Attribution 4.0".
    # Blocky characters, vehicles, street furniture (voxel art).
    Source(
        "metro-minis",
        "mikelovesrobots/mmmm",
        "149a03053a1992cdfbd1a1cc041598f4aea53e75",
        "CC BY 4.0",
        "Mike Judge",
        "assimp",
        r"^collada/.*\.dae$",
        SCENERY + r"|scene_|env_|store|house|apart|church|curb|sidewalk",
        weight=0.7,
    ),
    # LICENSE.md: works of NIST employees, public domain in the United States.
    Source(
        "ariac",
        "usnistgov/ARIAC",
        "ffc825757dc05cc6e4dfbd5c2483e993aab35652",
        "public domain (US government work)",
        "National Institute of Standards and Technology",
        "assimp-z-up",
        r"ariac_(gazebo|description)/.*\.(dae|stl)$",
        SCENERY + r"|marker_|path|pane|contact|leg\d|outline|tape|torso|table_top|pins|box_pallets_\d|computer_2",
        weight=0.6,
    ),
    # LICENSE is Apache-2.0, package.xml "Apache License 2.0", authors at PAL Robotics in model.config.
    # Models that name 3D Warehouse or IKEA are left out.
    Source(
        "pal-worlds",
        "pal-robotics/pal_gazebo_worlds",
        "86d0a55c285665d9f5c7ec5061f686bf33753a1d",
        "Apache-2.0",
        "PAL Robotics",
        "assimp-z-up",
        r"models/.*\.(dae|stl)$",
        r"citizen|willow|hospital|goetz|ikea|robocup|aruco|brick_box|test2",
        weight=2,
    ),
    # LICENSE is Apache-2.0. Furniture and household parts without colors (STL).
    Source(
        "furniture-sim",
        "vikashplus/furniture_sim",
        "c97995afb81c9e2d7325b0069f9abc9a2c74a2f0",
        "Apache-2.0",
        "Vikash Kumar",
        "assimp-z-up",
        r"\.stl$",
        r"window|feet|button|lightswitch|handle|rim|countertop",
        weight=1.5,
    ),
    # iai_apartment/package.xml says MIT (other packages of the repository say TODO or LGPL: not used).
    Source(
        "iai-apartment",
        "code-iai/iai_maps",
        "4d00cf3adcb89767d5992039af4b3a1afaf808f2",
        "MIT",
        "Institute for Artificial Intelligence, University of Bremen",
        "assimp-z-up",
        r"iai_apartment/.*\.dae$",
        SCENERY + r"|window|handle|door|socket|partw|visiblepart",
        weight=1,
    ),
    # LICENSE is BSD 3-Clause (PX4 Autopilot for Drones); subfolders with own LICENSE (OakD-Lite, x500) are left out.
    Source(
        "px4-models",
        "PX4/PX4-gazebo-models",
        "5577035667afb4b63fe1f966fb1a58bbb05d905b",
        "BSD-3-Clause",
        "PX4 Autopilot for Drones",
        "assimp-z-up",
        r"models/.*\.(dae|obj|stl)$",
        r"oakd|x500|simple|aileron|flap|elevator|rudder|kth_tank|5010|arm\.stl",
        weight=0.7,
    ),
    # LICENSE is Apache-2.0, package.xml "Apache 2.0".
    Source(
        "vrx",
        "osrf/vrx",
        "93ae8d07a842f7ce76314c03b736717476157184",
        "Apache-2.0",
        "Open Source Robotics Foundation",
        "assimp-z-up",
        r"\.dae$",
        r"symbol_|placard",
        weight=0.8,
    ),
    # LICENSE is Apache-2.0; 3rd-party-licenses.txt lists Apache-2.0, BSD and MIT parts.
    Source(
        "uuv",
        "uuvsimulator/uuv_simulator",
        "bfb40cb153684a0703173117b6bbf4258e8e71c5",
        "Apache-2.0",
        "the UUV Simulator authors",
        "assimp-z-up",
        r"\.(dae|obj)$",
        SCENERY + r"|seabed|lake|mangalia|munkholmen|sea_surface|heightmap|sand",
        weight=0.6,
    ),
    # LICENSE is Apache-2.0, rmf_demos_assets/package.xml.
    Source(
        "rmf-demos",
        "open-rmf/rmf_demos",
        "e1af33e0e8619a9417bf1d23c4c05246ea1d3802",
        "Apache-2.0",
        "Open Source Robotics Foundation",
        "assimp-z-up",
        r"rmf_demos_assets/.*\.(dae|obj)$",
        r"_col\.|_wheel|wheel",
        weight=0.8,
    ),
    # LICENSE is CC0 1.0; README: "I've dedicated all these works to the public domain using the CC0 dedication".
    Source(
        "printables",
        "azdle/printables",
        "3c104a23c68be5b26f9987ff8e7cb111118bef92",
        "CC0 1.0",
        "azdle",
        "assimp-z-up",
        r"\.stl$",
        r"honeycomb-1x\d|pixels",
        weight=0.6,
    ),
    # LICENSE is Apache-2.0. Printed parts of a robot arm.
    Source(
        "so-arm",
        "TheRobotStudio/SO-ARM100",
        "fda892cba81032c46c40976a48c9ceadbf40a9ca",
        "Apache-2.0",
        "The Robot Studio",
        "assimp-z-up",
        r"(Optional|STL/SO101/Individual|Simulation/SO100)/.*\.stl$",
        r"gauge",
        weight=0.5,
    ),
    # LICENSE is MIT (Farama Foundation, Metaworld authors). Parts of household objects, no colors (STL).
    Source(
        "metaworld",
        "Farama-Foundation/Metaworld",
        "7ea2b501c4a698c8533cdc55a396fe2734e2649d",
        "MIT",
        "the Meta-World authors, Farama Foundation",
        "assimp-z-up",
        r"assets/objects/meshes/.*\.stl$",
        SCENERY + r"|window|_col\d?\.|trim|glass|supports|rod\.|net|screen|ring|keys|square|axis",
        weight=0.3,
    ),
    # "Donated by Microsoft" in README of each; KhronosGroup/glTF-Sample-Assets Models/*/LICENSE.md says CC0 1.0
    # for these. Textures of 4 MiB and more are absent from the snapshot (then the model is white).
    Source(
        "gltf-samples",
        "sbtron/glTF-Sample-Models",
        "54e8526ddf5f0bd1b075fadb7f42b63ce88c3da1",
        "CC0 1.0",
        "Microsoft",
        "gltf",
        r"2\.0/(Avocado|BoomBox|WaterBottle)/glTF/.*\.gltf$",
        r"WithAxes",
        weight=2,
    ),
    # assets/*/README.md: Smithsonian CC0 (saxophone, whale), National Gallery of Denmark CC0 (Venus).
    Source(
        "iiif-3d",
        "IIIF/3d",
        "09fa6e27b6883116437777c99538ca55e27bc455",
        "CC0 1.0",
        "Smithsonian Institution, National Gallery of Denmark (SMK)",
        "gltf",
        r"assets/(venus|whale)/.*\.glb$",
        r"draco",
        weight=2,
    ),
    # as makehuman-assets, CC0 1.0. Bodies with clothes, shoes and hair in plain colors, put together by
    # scout_b_makehuman.py from the work tree makehuman-assets.
    Source(
        "makehuman-people",
        "makehumancommunity/makehuman-assets",
        "8cf9645b975a98eea056b140df11a1d278da0d10",
        "CC0 1.0",
        "the MakeHuman team",
        "gltf",
        r"\.glb$",
        "none",
        weight=1.5,
    ),
    # dishes/LICENSE, veggies/LICENSE, tri_homecart/LICENSE (Toyota Research Institute) and
    # manipulation_station/LICENSE.txt (Robot Locomotion Group) are BSD-3-Clause. Folder links to poly-haven.
    Source(
        "tri-models",
        "RobotLocomotion/models",
        "4723170e1c8ee8bc59c342bb5c491ab8f263f1fb",
        "BSD-3-Clause",
        "Toyota Research Institute, Robot Locomotion Group at CSAIL",
        "gltf",
        r"^(dishes|veggies|tri_homecart|manipulation_station|realsense2_description|skydio_2)/.*\.gltf$",
        "none",
        weight=1.5,
    ),
    # data/{lego,toys,table_square,differential}/LICENSE.txt are zlib ("URDF created by Erwin Coumans").
    # Folder links to bullet.
    Source(
        "bullet-objects",
        "bulletphysics/bullet3",
        "6c888f4abd7b46f572587360cc214985f02e5c6b",
        "zlib",
        "the authors of Bullet",
        "assimp-z-up",
        r"^data/(lego/lego|toys/(concave_box|shape_sorter)|table_square/table|differential/.*)\.(obj|stl)$",
        "none",
        weight=0.4,
    ),
    # assets/dinnerware/BLENDSWAP_LICENSE.txt: CC BY 3.0, Zer0Naught. The wheelchairs and beds of the repository
    # are left out: its LICENSE is MIT, but it holds much by third parties and does not say who made these.
    Source(
        "assistive-gym",
        "Healthcare-Robotics/assistive-gym",
        "fb799c377e1f144ff96044fb9096725f7f9cfc61",
        "CC BY 3.0",
        "Zer0Naught (Blend Swap)",
        "assimp",
        r"assets/dinnerware/.*\.obj$",
        "vhacd",
        weight=1.5,
    ),
]
