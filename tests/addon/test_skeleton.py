"""Skeletons: a creature with known joints comes back as a rig that an animator would have built."""

import json

import bpy
import chain
import numpy as np
import pytest
import scenes
from mathutils import Quaternion, Vector
from ossify import command, formats, limbs, native, options
from test_roundtrip import bones_of, compare, exported_and_imported, times_of_action

COUNT = len(scenes.creature_bones())


def converted(**chosen):
    """The rig of the creature, the creature, and its true bones"""
    body, bones = scenes.creature()
    picked = {"bones": COUNT, "quality": "NORMAL", "skeleton": "HIERARCHY", **chosen}
    return chain.converted(body, **picked), body, bones


@pytest.fixture
def hierarchy():
    return converted()


@pytest.fixture
def articulated():
    return converted(skeleton="ARTICULATED")


def strongest(mesh):
    """[v] for every vertex the name of its strongest group"""
    names = [group.name for group in mesh.vertex_groups]
    return [names[max(v.groups, key=lambda group: group.weight).group] for v in mesh.data.vertices]


def matched(result, body):
    """true bone -> found bone, by the vertices that they move most"""
    pairs = list(zip(strongest(body), strongest(result.meshes[0]), strict=True))
    names = dict.fromkeys(pair[0] for pair in pairs)
    return {name: max(names_of(pairs, name), key=names_of(pairs, name).count) for name in names}


def names_of(pairs, name):
    return [found for true, found in pairs if true == name]


def deforming(armature):
    return [bone for bone in armature.data.bones if bone.use_deform]


# ---- the bones


@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_true_joints_and_parents_come_back(kind):
    result, body, bones = converted(skeleton=kind)
    match = matched(result, body)
    assert len(set(match.values())) == COUNT
    found = result.armature.data.bones
    for name, (parent, head, _) in bones.items():
        bone = found[match[name]]
        assert bone.parent.name == (match[parent] if parent else "Root")
        if parent:
            assert np.linalg.norm(np.array(bone.head_local) - head) < 2e-3 * result.report.size


def axis_of(bone, number):
    return Vector(np.array(bone.matrix_local)[:3, number])


def test_tails_lead_to_the_child_and_limbs_are_connected():
    result, body, bones = converted(keys="REDUCED")
    match, found = matched(result, body), result.armature.data.bones
    for name in ("hand.L", "hand.R", "shin.L", "shin.R", "head"):
        bone = found[match[name]]
        assert bone.use_connect
        assert np.allclose(bone.parent.tail_local, bone.head_local, atol=1e-6)
    for name in ("arm.L", "thigh.R"):
        assert not found[match[name]].use_connect  # the trunk leads to the head
    for name in ("hand.L", "shin.R", "head"):  # along the limb at its end
        _, head, tail = bones[name]
        bone = found[match[name]]
        way = (bone.tail_local - bone.head_local).normalized()
        assert way.dot(Vector(tail - head).normalized()) > 0.98
        assert 0.8 < bone.length / np.linalg.norm(tail - head) < 1.4


@pytest.mark.parametrize("share", [0.1, 2.0], ids=["jaw", "neck"])
def test_a_bone_does_not_end_at_a_small_part_inside_of_what_it_moves(share):
    """A neck along z, what it carries from z = 1 to 2, and a last bone whose joint is just above z = 1."""
    heights = np.concatenate([np.linspace(0, 1, 50), np.linspace(1, 2, 100), np.full(int(100 * share), 1.2)])
    points = np.stack([0 * heights, 0.1 * np.sin(np.arange(len(heights))), heights], -1)
    dense = np.zeros((len(points), 3))
    dense[:50, 0] = dense[50:150, 1] = dense[150:, 2] = 1
    joints = np.array([(0, 0, 0), (0, 0, 1), (0, 0, 1.1)], float)
    bare = np.zeros(3)
    skeleton = native.Skeleton(
        *(0, np.array([-1, 0, 1]), joints, ["root", "ball", "ball"], np.zeros((3, 3)), bare, bare),
        *(np.full(3, -1), None, ""),
    )
    leading = limbs.leads(skeleton, limbs.Region.of(points, dense), 0.01)
    assert leading.tolist() == [1, -1 if share < 1 else 2, -1]


def test_hinges_bend_about_x_and_a_chain_has_one_roll(hierarchy):
    result, body, _ = hierarchy
    match, found = matched(result, body), result.armature.data.bones
    for name, axis in (("hand.L", (0, 0, 1)), ("hand.R", (0, 0, 1)), ("shin.L", (1, 0, 0))):
        bone = found[match[name]]
        assert bone["ossify_joint"] == "hinge"
        assert abs(axis_of(bone, 0).dot(Vector(axis))) > 0.99
        assert axis_of(bone.parent, 0).dot(axis_of(bone, 0)) > 0.99


def test_mirrored_bones_have_mirrored_names_places_and_rolls(hierarchy):
    result, body, _ = hierarchy
    match, found = matched(result, body), result.armature.data.bones
    flip = np.array([-1, 1, 1])
    size = result.report.size
    for name in ("arm", "hand", "thigh", "shin"):
        left, right = found[match[f"{name}.L"]], found[match[f"{name}.R"]]
        assert left.name.endswith(".L")
        assert bpy.utils.flip_name(left.name) == right.name
        for end in ("head_local", "tail_local"):
            assert np.abs(np.array(getattr(left, end)) * flip - getattr(right, end)).max() < 1e-4 * size
        assert np.abs(np.array(axis_of(left, 2)) * flip - axis_of(right, 2)).max() < 1e-3
    for name in ("trunk", "head"):
        assert not match[name].endswith((".L", ".R"))
        assert abs(found[match[name]].tail_local.x) < 1e-3 * size


def test_names_are_by_chain_numbered_from_the_root(hierarchy):
    result, body, _ = hierarchy
    match = matched(result, body)
    assert match["trunk"] == "Core.001"
    assert match["head"] == "Core.002"
    assert (match["arm.L"], match["hand.L"]) == ("Side.001.L", "Side.002.L")
    assert (match["thigh.R"], match["shin.R"]) == ("Down.001.R", "Down.002.R")
    groups = {group.name for group in result.meshes[0].vertex_groups}
    assert groups == {bone.name for bone in deforming(result.armature)}
    collections = result.armature.data.collections
    assert [c.name for c in collections] == ["Root", "Deform"]
    chains = {c.name: {bone.name for bone in c.bones} for c in collections["Deform"].children}
    assert set(chains) == {"Core", "Side.L", "Side.R", "Down.L", "Down.R"}
    assert chains["Side.L"] == {"Side.001.L", "Side.002.L"}


def test_no_bone_is_tiny_and_joints_are_noted(hierarchy):
    result, _, _ = hierarchy
    for bone in deforming(result.armature):
        assert bone.length > 0.009 * result.report.size
        assert bone["ossify_joint"] in {"root", "ball", "hinge", "stiff", "loose"}
        assert bone["ossify_drift"] < 0.1
    assert result.report.joints() == {"ball": 5, "hinge": 4, "stiff": 0, "loose": 0}


def test_the_root_of_a_symmetric_body_is_in_its_middle():
    """Even when a leg turns less in space than the trunk does."""
    body, _ = scenes.creature(trunk=0.6)
    result = chain.converted(body, bones=COUNT, quality="NORMAL", skeleton="HIERARCHY")
    assert matched(result, body)["trunk"] == "Core.001"


# ---- the motion


def keyed_channels(armature):
    """bone -> names of its keyed channels"""
    found = {}
    for curve in chain.curves(armature.animation_data.action):
        found.setdefault(curve.data_path.split('"')[1], set()).add(curve.data_path.rsplit(".", 1)[1])
    return found


@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
@pytest.mark.parametrize("keys", ["EVERY", "REDUCED"])
def test_blender_replays_the_solver(kind, keys):
    """Nothing is lost with every key, and no more than the tolerance with fewer."""
    result, _, _ = converted(skeleton=kind, keys=keys, key_tolerance=0.1)
    allowed = 0.1 if keys == "REDUCED" else 5e-4
    assert result.report.percent(result.report.keys_moved) <= allowed * 1.01


def test_articulated_bones_only_turn(articulated):
    result, _, _ = articulated
    channels = keyed_channels(result.armature)
    assert channels.pop("Root") == {"location", "rotation_quaternion"}
    assert channels.pop("Core.001") <= {"location", "rotation_quaternion"}
    assert all(names == {"rotation_quaternion"} for names in channels.values())
    assert result.report.located == 0
    assert result.report.free is not None
    assert result.report.solver.erms <= 1.4 * result.report.free.erms + 0.1
    assert any("if bones were free" in line for line in result.report.lines())


def test_joints_of_articulated_bones_hold_in_every_frame(articulated):
    result, _, _ = articulated
    pose = result.armature.pose.bones
    for frame in (1, 7, 20, 30):
        bpy.context.scene.frame_set(frame)
        for bone in pose:
            if bone.parent and bone.parent.name != "Root":
                joint = bone.parent.matrix @ bone.parent.bone.matrix_local.inverted() @ bone.bone.head_local
                assert (joint - bone.head).length < 1e-5 * result.report.size


def test_hierarchy_keeps_location_only_where_it_is_needed():
    """A limb that slides on the body keeps its keys, and the report says how far."""
    body, _ = scenes.creature()
    mover = bpy.data.objects["Mover"]
    slide = mover.pose.bones["arm.L"]
    for frame in range(1, 31):
        slide.location = (0, 0.2 * np.sin(frame), 0)
        slide.keyframe_insert("location", frame=frame)
    chosen = {"skeleton": "HIERARCHY", "symmetry": "NONE", "keys": "REDUCED"}
    result = chain.converted(body, bones=COUNT, quality="NORMAL", **chosen)
    arm = matched(result, body)["arm.L"]
    channels = keyed_channels(result.armature)
    located = {name for name, keyed in channels.items() if "location" in keyed} - {"Root", "Core.001"}
    assert located == {arm}
    assert result.report.located == 1
    assert 2 < result.report.percent(result.report.location) < 10
    assert not result.armature.data.bones[arm].use_connect


def moved(mesh, before):
    return np.linalg.norm(scenes.seen(mesh) - before, axis=1)


@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_a_turned_bone_takes_its_descendants_along_and_nothing_else(kind):
    result, body, _ = converted(skeleton=kind)
    armature, (mesh,) = result.armature, result.meshes
    name = matched(result, body)["arm.L"]
    armature.animation_data.action = None
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    before = scenes.seen(mesh)
    armature.pose.bones[name].rotation_quaternion = Quaternion((1, 0, 0), 0.8)
    distances = moved(mesh, before)
    below = {name, *(bone.name for bone in armature.data.bones[name].children_recursive)}
    assert len(below) == 2
    owned = np.array(
        [
            sum(g.weight for g in v.groups if mesh.vertex_groups[g.group].name in below)
            for v in mesh.data.vertices
        ]
    )
    assert distances[owned == 0].max() < 1e-6
    assert distances[owned > 0.99].max() > 0.5
    tip = armature.pose.bones[armature.data.bones[name].children[0].name]
    gap = (tip.head - armature.pose.bones[name].tail).length
    assert gap <= (1e-5 if tip.bone.use_connect else 1.1e-3 * tip.parent.length)


# ---- settings


def test_flexible_bones_have_no_skeleton():
    clash = options.Options(bone_kind="FLEXIBLE")
    assert "choose rigid bones" in options.contradiction(clash)
    assert options.contradiction(options.Options(bone_kind="FLEXIBLE", skeleton="NONE")) is None
    assert options.implied({"bone_kind": "FLEXIBLE"}) == {"bone_kind": "FLEXIBLE", "skeleton": "NONE"}
    for name in options.PRESETS:
        assert options.contradiction(options.Options(**options.preset_values(name))) is None


def test_without_a_skeleton_bones_hang_side_by_side():
    result, _, _ = converted(skeleton="NONE")
    assert {bone.parent.name for bone in deforming(result.armature)} == {"Root"}
    assert result.report.skeleton is None


def test_without_symmetry_no_name_has_a_side():
    result, _, _ = converted(symmetry="NONE")
    assert not [b.name for b in result.armature.data.bones if b.name.endswith((".L", ".R"))]


def test_the_x_plane_is_the_objects_own():
    result, body, _ = converted(symmetry="X")
    assert matched(result, body)["hand.L"].endswith(".L")


def seen_middle(body, name, frame):
    """Where the middle of a part is in a frame, in the scene"""
    return scenes.seen(body, frame)[[part == name for part in strongest(body)]].mean(axis=0)


@pytest.mark.parametrize("name", ["head", "shin.L"])
@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_the_root_is_at_the_place_that_was_chosen(name, kind):
    """In the frame that was looked at, far from the rest pose."""
    body, _ = scenes.creature()
    body.location = (3, -2, 1)
    place = tuple(seen_middle(body, name, 25))
    picked = {"bones": COUNT, "quality": "NORMAL", "root": "PLACE", "root_place": place}
    result = chain.converted(body, skeleton=kind, **picked)
    match = matched(result, body)
    assert result.armature.data.bones[match[name]].parent.name == "Root"
    assert result.armature.ossify.root_bone == match[name]
    scenes.select(result.armature)
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert result.armature.data.bones[matched(result, body)[name]].parent.name == "Root"


def test_the_root_is_at_the_cursor():
    body, bones = scenes.creature()
    bpy.context.scene.cursor.location = seen_middle(body, "head", 12)
    assert bpy.ops.ossify.root_at_cursor() == {"FINISHED"}
    assert bpy.context.scene.ossify.root == "PLACE"
    scenes.select(body)
    assert bpy.ops.ossify.convert(bones=COUNT, quality="DRAFT") == {"FINISHED"}
    assert bpy.context.object.ossify.root_bone == "Core.001"
    head = np.array(bpy.context.object.data.bones["Core.001"].matrix_local.translation)
    assert np.linalg.norm(head - bones["head"][1]) < np.linalg.norm(head - bones["trunk"][1])


def test_a_place_by_operator_and_by_command(tmp_path):
    body, _ = scenes.creature()
    place = seen_middle(body, "head", 12)
    scenes.select(body)
    picked = {"bones": COUNT, "quality": "DRAFT", "root": "PLACE", "root_place": place}
    assert bpy.ops.ossify.convert(hide_source=False, **picked) == {"FINISHED"}
    found = bpy.context.object
    assert np.allclose(found.ossify.settings.root_place, place)
    root, names = found.data.bones["Core.001"].head_local.copy(), {bone.name for bone in found.data.bones}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "creature.blend"))
    arguments = ["convert", tmp_path / "creature.blend", "--object", "Creature", "--quiet"]
    arguments += ["--output", tmp_path / "rig.blend", "--bones", COUNT, "--quality", "draft"]
    assert command.main([*map(str, arguments), "--root-place", *map(repr, map(float, place))]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    again = bpy.data.objects["Creature Rig.001"]  # beside the operator's
    assert again.ossify.root_bone == "Core.001"
    assert {bone.name for bone in again.data.bones} == names
    assert (again.data.bones["Core.001"].head_local - root).length < 1e-5


def test_a_place_that_is_none_is_refused():
    nowhere = options.Options(root="PLACE", root_place=(0.0, float("nan"), 0.0))
    assert "not finite" in options.contradiction(nowhere)


def test_settings_are_stored_on_the_armature(articulated):
    assert articulated[0].armature.ossify.settings.skeleton == "ARTICULATED"


@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_bones_are_counted_by_themselves(kind):
    result, body, _ = converted(bones_by="PARTS", bones_most=40, skeleton=kind)
    assert result.report.bones == COUNT
    assert len(set(matched(result, body).values())) == COUNT


def test_articulated_bones_within_a_budget():
    result, _, _ = converted(bones_by="BUDGET", budget=1.0, bones_most=40, skeleton="ARTICULATED")
    assert result.report.bones < 40
    assert result.report.percent(result.report.rms) < 1.5


def test_one_bone_has_a_skeleton_too():
    obj = scenes.key_shapes(scenes.grid())
    result = chain.converted(obj, bones=1, skeleton="HIERARCHY")
    assert [bone.name for bone in result.armature.data.bones] == ["Root", "Core.001"]


@pytest.mark.parametrize("rest", ["UNDEFORMED", "SYNTHESISED"])
def test_articulated_rest_shapes(rest):
    result, _, _ = converted(skeleton="ARTICULATED", rest=rest)
    assert result.report.percent(result.report.rms) < 0.5


def test_undo_takes_a_skeleton_back():
    body, _ = scenes.creature()
    bpy.ops.ed.undo_push(message="before")
    scenes.select(body)
    before = {block.name for kind in (bpy.data.objects, bpy.data.armatures) for block in kind}
    assert bpy.ops.ossify.convert(bones=COUNT, quality="DRAFT", skeleton="ARTICULATED") == {"FINISHED"}
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert {block.name for kind in (bpy.data.objects, bpy.data.armatures) for block in kind} == before


@pytest.mark.parametrize("kind", ["none", "hierarchy", "articulated"])
def test_command(tmp_path, kind):
    scenes.creature()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "creature.blend"))
    arguments = ["convert", tmp_path / "creature.blend", "--object", "Creature", "--quiet"]
    arguments += ["--output", tmp_path / "rig.blend", "--report", tmp_path / "report.json"]
    arguments += ["--bones", COUNT, "--skeleton", kind]
    assert command.main([*map(str, arguments)]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["settings"]["skeleton"] == kind.upper()
    (record,) = report["inputs"]
    if kind == "none":
        assert "skeleton" not in record
    else:
        assert sum(record["skeleton"]["joints"].values()) == COUNT - 1
        assert (record["skeleton"]["free_erms"] is not None) == (kind == "articulated")


# ---- other programs


def heads_of(armature, times):
    """bone -> [f][3] where its joint is in the scene"""
    heads = {bone.name: [] for bone in armature.pose.bones}
    for time in times:
        bpy.context.scene.frame_set(time)
        for bone in armature.pose.bones:
            heads[bone.name].append(armature.matrix_world @ bone.head)
    return {name: np.array(places) for name, places in heads.items()}


@pytest.mark.parametrize("suffix", [".glb", ".fbx"])
@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_round_trip(tmp_path, suffix, kind):
    """The hierarchy, the joints and the motion come back, and what only turned still does."""
    result, _, _ = converted(skeleton=kind)
    times, size = list(range(1, 31)), result.report.size
    shown, heads = scenes.seen_frames(result.meshes[0], times), heads_of(result.armature, times)
    bones = bones_of(result.armature)
    assert any(parent not in ("", "Root") for parent in bones.values())
    meshes = exported_and_imported(result, tmp_path / f"rig{suffix}")
    tolerance = 2e-3 if suffix == ".fbx" else 1e-4
    compare(shown, meshes, times_of_action(times), tolerance)
    again = meshes[0].find_armature()
    assert bones_of(again) == bones
    found = heads_of(again, times_of_action(times))
    for name, places in heads.items():
        assert np.abs(found[name] - places).max() < tolerance * size
    for bone in again.data.bones:
        if kind == "ARTICULATED" and bone.parent and bone.parent.name != "Root":
            lengths = np.linalg.norm(found[bone.name] - found[bone.parent.name], axis=1)
            assert np.ptp(lengths) < tolerance * size


def test_blend_keeps_the_skeleton(tmp_path, hierarchy):
    result, _, _ = hierarchy
    bones, kinds = bones_of(result.armature), [b["ossify_joint"] for b in deforming(result.armature)]
    formats.write(tmp_path / "rig.blend", result.armature, result.meshes, 4)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    again = bpy.data.objects["Creature Rig"]
    assert bones_of(again) == bones
    assert [b["ossify_joint"] for b in deforming(again)] == kinds


# ---- the artist's word


def pose(armature, *names):
    """The armature in pose mode with these bones selected."""
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    for bone in armature.pose.bones:
        owner = bone if hasattr(bone, "select") else bone.bone
        owner.select = bone.name in names


def wish(armature, wanted, *names):
    pose(armature, *names)
    assert bpy.ops.ossify.wish(wish=wanted) == {"FINISHED"}


def test_update_without_wishes_changes_nothing(hierarchy):
    result, _, _ = hierarchy
    armature, (mesh,) = result.armature, result.meshes
    times = [1, 9, 17, 30]
    shown, bones = scenes.seen_frames(mesh, times), bones_of(armature)
    heads = {bone.name: np.array(bone.head_local) for bone in armature.data.bones}
    scenes.select(armature)
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert bones_of(armature) == bones
    for bone in armature.data.bones:
        assert np.linalg.norm(np.array(bone.head_local) - heads[bone.name]) < 1e-3 * result.report.size
    assert np.abs(scenes.seen_frames(mesh, times) - shown).max() < 1e-5 * result.report.size


def test_demanded_and_forbidden_edges():
    result, body, _ = converted(keys="REDUCED", key_tolerance=0.05)
    armature, (mesh,) = result.armature, result.meshes
    match, times = matched(result, body), [1, 9, 17, 30]
    shown = scenes.seen_frames(mesh, times)
    wish(armature, "APART", match["trunk"], match["arm.L"])
    wish(armature, "JOIN", match["head"], match["arm.L"])
    assert len(armature.ossify.wishes) == 2
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert armature.mode == "POSE"
    after = matched(result, body)
    found = armature.data.bones
    assert found[after["arm.L"]].parent.name == after["head"]
    assert found[after["hand.L"]].parent.name == after["arm.L"]
    assert found[after["arm.R"]].parent.name == after["trunk"]
    assert {g.name for g in mesh.vertex_groups} == {bone.name for bone in deforming(armature)}
    assert {(w.first, w.second) for w in armature.ossify.wishes} == {
        tuple(sorted((after["trunk"], after["arm.L"]))),
        tuple(sorted((after["head"], after["arm.L"]))),
    }
    assert armature.ossify.located == 1  # the arm does not turn about a point of the head
    moved_by = np.linalg.norm(scenes.seen_frames(mesh, times) - shown, axis=2).max()
    assert result.report.percent(moved_by) < 0.05 * 1.01


def test_a_named_root(hierarchy):
    result, body, _ = hierarchy
    armature = result.armature
    pose(armature, matched(result, body)["head"])
    assert bpy.ops.ossify.make_root() == {"FINISHED"}
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    after = matched(result, body)
    assert armature.data.bones[after["head"]].parent.name == "Root"
    assert armature.data.bones[after["trunk"]].parent.name == after["head"]
    assert armature.ossify.root_bone == after["head"]


def test_what_an_artist_added_to_the_rig_is_kept(hierarchy):
    result, body, _ = hierarchy
    armature = result.armature
    name = matched(result, body)["hand.L"]
    armature.pose.bones[name].constraints.new("LIMIT_ROTATION").name = "Mine"
    armature.location = (1, 0, 0)
    armature.keyframe_insert("location", frame=1)
    wish(armature, "JOIN", matched(result, body)["head"], matched(result, body)["arm.L"])
    bpy.ops.ossify.update_skeleton()
    assert "Mine" in armature.pose.bones[matched(result, body)["hand.L"]].constraints
    paths = [curve.data_path for curve in chain.curves(armature.animation_data.action)]
    assert paths.count("location") == 3


def test_a_rig_without_a_skeleton_gets_one():
    result, body, bones = converted(skeleton="NONE")
    scenes.select(result.armature)
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    match = matched(result, body)
    for name, (parent, _, _) in bones.items():
        found = result.armature.data.bones[match[name]].parent.name
        assert found == (match[parent] if parent else "Root")
    assert result.armature.ossify.settings.skeleton == "HIERARCHY"


def test_an_update_is_one_undo_step(hierarchy):
    result, body, _ = hierarchy
    name = result.armature.name
    wish(result.armature, "JOIN", matched(result, body)["head"], matched(result, body)["arm.L"])
    bpy.ops.object.mode_set(mode="OBJECT")
    bones = bones_of(result.armature)
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert bones_of(bpy.data.objects[name]) != bones
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert bones_of(bpy.data.objects[name]) == bones


def test_flexible_rigs_are_refused_an_update():
    obj = scenes.key_shapes(scenes.grid())
    result = chain.converted(obj, bone_kind="FLEXIBLE")
    scenes.select(result.armature)
    with pytest.raises(RuntimeError, match="Flexible bones"):
        bpy.ops.ossify.update_skeleton()


def test_wishes_need_two_bones(hierarchy):
    pose(hierarchy[0].armature, "Core.001")
    with pytest.raises(RuntimeError, match="poll"):
        bpy.ops.ossify.wish(wish="JOIN")


def test_wishes_can_be_taken_back(hierarchy):
    armature = hierarchy[0].armature
    for wanted, count in (("JOIN", 1), ("APART", 1), ("FORGET", 0), ("JOIN", 1)):
        wish(armature, wanted, "Core.001", "Side.002.L")
        assert len(armature.ossify.wishes) == count
    bpy.ops.ossify.forget_wishes()
    assert len(armature.ossify.wishes) == 0
