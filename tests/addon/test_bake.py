"""Back to a cache: what Blender plays from it is what it shows of the rig."""

import itertools
import struct

import bpy
import builds
import chain
import numpy as np
import pytest
import scenes
from kept import kept
from mathutils import Matrix
from ossify import command
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.files import bake, formats, inputs
from ossify.options import options
from ossify.ui import operators_bake, panel

TIMES = list(range(1, 9))
NEAR = 1e-6  # of the size
FILES = {"PC2": "pc2", "MDD": "mdd"}
EXPORTED = {"ALEMBIC": "abc", "USD": "usdc"}


def baked(*objects, **chosen):
    context = bpy.context
    steps = bake.bake(context.scene, context.view_layer, list(objects), options.BakeOptions(**chosen))
    return run(steps)


def needs(kind):
    if kind in {"ALEMBIC", "USD"}:
        builds.needs(kind.lower())


def placed(obj):
    """Moved, turned and scaled unevenly."""
    obj.location, obj.rotation_euler, obj.scale = (3, -2, 1), (0.4, 0.7, -1.2), (1.5, 0.5, 2)
    return obj


@pytest.fixture
@kept
def rig():
    """An armature with its mesh, made from an object that stands anywhere."""
    return chain.converted(placed(scenes.key_shapes(scenes.grid())))


def difference(shown, again):
    return np.linalg.norm(shown - again, axis=-1).max() / scenes.size_of(shown)


def path_for(folder, kind):
    endings = FILES | EXPORTED
    return str(folder / f"cache.{endings[kind]}") if kind in endings else ""


def pose_by_hand(armature):
    """An artist's fix: one bone turned and keyed in frame 4."""
    bpy.context.scene.frame_set(4)
    bone = armature.pose.bones[2]
    bone.rotation_quaternion = (0.9, 0.3, -0.2, 0.1)
    bone.location.x += 0.2
    bone.keyframe_insert("rotation_quaternion", frame=4)
    bone.keyframe_insert("location", frame=4)
    bpy.context.scene.frame_set(1)


# ---- what is played is what was seen


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("kind", ["SHAPE_KEYS", "PC2", "MDD"])
def test_the_copy_plays_in_place(rig, tmp_path, kind, edited):
    before = scenes.seen_frames(rig.meshes[0], TIMES)
    if edited:
        pose_by_hand(rig.armature)
    shown = scenes.seen_frames(rig.meshes[0], TIMES)
    assert edited == (difference(shown, before) > 0.01)
    result = baked(rig.armature, to=kind, filepath=path_for(tmp_path, kind))
    (copy,) = result.meshes
    assert difference(shown, scenes.seen_frames(copy, TIMES)) < NEAR
    assert np.array_equal(shown, scenes.seen_frames(rig.meshes[0], TIMES))
    assert copy.parent is None
    assert [mod.type for mod in copy.modifiers] == ([] if kind == "SHAPE_KEYS" else ["MESH_CACHE"])


def imported(path):
    with inputs.Opened(path, [], None) as opened:
        (obj,) = opened.objects()
        return scenes.seen_frames(obj, TIMES)


@pytest.mark.parametrize("kind", list(EXPORTED))
def test_other_programs_read_what_blender_shows(rig, tmp_path, kind):
    needs(kind)
    pose_by_hand(rig.armature)
    shown = scenes.seen_frames(rig.meshes[0], TIMES)
    before = scenes.picture()
    result = baked(rig.armature, to=kind, filepath=path_for(tmp_path, kind))
    assert scenes.difference(before, scenes.picture()) == ""
    assert [file.name for file in tmp_path.iterdir()] == [result.files[0].name]
    assert difference(shown, imported(result.files[0])) < NEAR


def carried(obj):
    """Under a parent that moves, turns and is scaled unevenly, so that the object is sheared."""
    empty = scenes.link(bpy.data.objects.new("Carrier", None))
    obj.parent = empty
    empty.scale = (1, 2, 0.7)
    for frame, location, angle in ((1, (0, 0, 0), 0.2), (8, (4, 1, -2), 1.9)):
        empty.location, empty.rotation_euler.z = location, angle
        empty.keyframe_insert("location", frame=frame)
        empty.keyframe_insert("rotation_euler", frame=frame)
    return obj


@pytest.mark.parametrize("kind", ["SHAPE_KEYS", "PC2", "ALEMBIC"])
@pytest.mark.parametrize("scale", [(1, 1, 1), (2, -0.5, 1)])
def test_any_mesh_is_baked_with_the_motion_of_its_parents(tmp_path, kind, scale):
    needs(kind)
    obj = carried(placed(scenes.key_shapes(scenes.grid())))
    obj.scale = scale
    shown = scenes.seen_frames(obj, TIMES)
    result = baked(obj, to=kind, filepath=path_for(tmp_path, kind))
    again = imported(result.files[0]) if kind == "ALEMBIC" else scenes.seen_frames(result.meshes[0], TIMES)
    assert difference(shown, again) < NEAR


def test_the_walk_of_an_armature_is_baked(rig, tmp_path):
    rig.armature.location = (0, 0, 0)
    rig.armature.keyframe_insert("location", frame=1)
    rig.armature.location = (2, 5, 0)
    rig.armature.keyframe_insert("location", frame=8)
    shown = scenes.seen_frames(rig.meshes[0], TIMES)
    result = baked(rig.meshes[0], to="MDD", filepath=path_for(tmp_path, "MDD"))
    assert difference(shown, scenes.seen_frames(result.meshes[0], TIMES)) < NEAR


def test_later_modifiers_stay_live(tmp_path):
    source = scenes.key_shapes(scenes.grid())
    source.modifiers.new("Subdivision", "SUBSURF")
    rig = chain.converted(source)
    shown = scenes.seen_frames(rig.meshes[0], TIMES)
    assert shown.shape[1] > 81
    result = baked(rig.armature, to="PC2", filepath=path_for(tmp_path, "PC2"))
    assert struct.unpack("<12siiffi", result.files[0].read_bytes()[:32])[2] == 81
    (copy,) = result.meshes
    assert [mod.type for mod in copy.modifiers] == ["MESH_CACHE", "SUBSURF"]
    assert copy.modifiers["Subdivision"].show_viewport
    assert difference(shown, scenes.seen_frames(copy, TIMES)) < NEAR


def test_earlier_modifiers_are_in_the_mesh(rig, tmp_path):
    """The artist subdivides before the armature: the cache has those vertices."""
    mesh = rig.meshes[0]
    mesh.modifiers.new("Subdivision", "SUBSURF")
    mesh.modifiers.move(1, 0)
    shown = scenes.seen_frames(mesh, TIMES)
    assert shown.shape[1] > 81
    for kind in ("SHAPE_KEYS", "PC2"):
        (copy,) = baked(rig.armature, to=kind, filepath=path_for(tmp_path, kind)).meshes
        assert len(copy.data.vertices) == shown.shape[1]
        assert difference(shown, scenes.seen_frames(copy, TIMES)) < NEAR


def test_a_simulation_is_run_from_its_start(tmp_path):
    obj = scenes.grid()
    obj.modifiers.new("Cloth", "CLOTH").point_cache.frame_end = 8
    shown = scenes.seen_frames(obj, TIMES)[5:]
    chosen = {"frames": "CUSTOM", "frame_start": 6, "frame_end": 8}
    (copy,) = baked(obj, to="PC2", filepath=path_for(tmp_path, "PC2"), **chosen).meshes
    assert difference(shown, scenes.seen_frames(copy, [6, 7, 8])) < NEAR


# ---- what is in the files


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("kind", list(FILES))
def test_frames_are_those_of_the_range_and_step(rig, tmp_path, kind, step):
    bpy.context.scene.render.fps = 25
    times = list(range(2, 9, step))
    shown = scenes.seen_frames(rig.meshes[0], times)
    chosen = {"frames": "CUSTOM", "frame_start": 2, "frame_end": 8, "frame_step": step}
    result = baked(rig.armature, to=kind, filepath=path_for(tmp_path, kind), **chosen)
    data = result.files[0].read_bytes()
    if kind == "PC2":
        assert struct.unpack("<12siiffi", data[:32]) == (b"POINTCACHE2\0", 1, 81, 2, step, len(times))
        points = np.frombuffer(data[32:], "<f4")
    else:
        assert struct.unpack(">ii", data[:8]) == (len(times), 81)
        seconds = np.frombuffer(data[8 : 8 + 4 * len(times)], ">f4")
        assert np.allclose(seconds, (np.array(times) - 2) / 25)
        points = np.frombuffer(data[8 + 4 * len(times) :], ">f4")
    matrix = np.array(result.meshes[0].matrix_world)
    world = points.reshape(len(times), 81, 3) @ matrix[:3, :3].T + matrix[:3, 3]
    assert difference(shown, world) < NEAR
    assert difference(shown, scenes.seen_frames(result.meshes[0], times)) < NEAR


def test_alembic_between_steps_is_mixed(rig, tmp_path):
    needs("ALEMBIC")
    shown = scenes.seen_frames(rig.meshes[0], [1, 3, 5, 7])
    result = baked(rig.armature, to="ALEMBIC", filepath=path_for(tmp_path, "ALEMBIC"), frame_step=2)
    again = imported(result.files[0])[:7]
    assert difference(shown, again[::2]) < NEAR
    assert difference((shown[1:] + shown[:-1]) / 2, again[1::2]) < NEAR


def test_one_shape_key_for_each_key(rig):
    bpy.context.scene.frame_end = 8
    for curve in chain.curves(rig.armature.animation_data.action):
        for point in reversed(list(curve.keyframe_points)):
            if point.co.x not in (1, 4, 6):
                curve.keyframe_points.remove(point)
    rig.armature.pose.bones[1].keyframe_insert("location", frame=2.5)
    times = [1, 2.5, 4, 6, 8]
    scene, shown = bpy.context.scene, []
    for time in times:
        scene.frame_set(int(time), subframe=time % 1)
        shown.append(scenes.seen(rig.meshes[0]))
    (copy,) = baked(rig.armature, shapes="KEYS").meshes
    names = [key.name for key in copy.data.shape_keys.key_blocks]
    assert names == ["Basis", "Frame 1", "Frame 2.5", "Frame 4", "Frame 6", "Frame 8"]
    for time, points in zip(times, shown, strict=True):
        scene.frame_set(int(time), subframe=time % 1)
        assert difference(points, scenes.seen(copy)) < NEAR
    scene.frame_set(5)
    assert difference((shown[2] + shown[3]) / 2, scenes.seen(copy)) < NEAR


def test_several_meshes_get_a_file_each(tmp_path):
    first, second = scenes.key_shapes(scenes.grid()), placed(scenes.key_shapes(scenes.grid("Other")))
    rig = chain.converted(first, second)
    shown = [scenes.seen_frames(obj, TIMES) for obj in rig.meshes]
    result = baked(rig.armature, to="PC2", filepath=path_for(tmp_path, "PC2"))
    assert [file.name for file in result.files] == ["cache-Sheet_Rigged.pc2", "cache-Other_Rigged.pc2"]
    for points, copy in zip(shown, result.meshes, strict=True):
        assert difference(points, scenes.seen_frames(copy, TIMES)) < NEAR


def test_names_are_numbered_as_usual(rig):
    first, second = baked(rig.armature), baked(rig.armature)
    assert [obj.name for obj in first.meshes + second.meshes] == [
        "Sheet Rigged Baked",
        "Sheet Rigged Baked.001",
    ]
    assert {"Sheet Rig Bake", "Sheet Rig Bake.001"} <= set(bpy.data.collections.keys())


@pytest.mark.parametrize("kind", ["PC2", "MDD", "ALEMBIC", "USD"])
def test_a_path_that_nobody_would_look_for_is_refused(rig, tmp_path, monkeypatch, kind):
    needs(kind)
    here, folder = tmp_path / "here", tmp_path / "caches"
    here.mkdir()
    folder.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(Refusal, match="not saved yet"):
        baked(rig.armature, to=kind, filepath="//walk")
    for path in (str(folder), f"{folder}/"):
        with pytest.raises(Refusal, match="is a folder: name a file in it"):
            baked(rig.armature, to=kind, filepath=path)
    assert sorted(tmp_path.rglob("*")) == [folder, here]


def test_paths_relative_to_the_file_stay_so(rig, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    rig = bpy.data.objects["Sheet Rig"]
    (copy,) = baked(rig, to="PC2", filepath="//walk").meshes
    assert copy.modifiers[0].filepath == "//walk.pc2"
    assert (tmp_path / "walk.pc2").is_file()


# ---- there and back


def three_pieces():
    """A tube of three stiff pieces: there is one rig with three bones for it, but for their order."""
    obj = scenes.tube()
    points = scenes.positions(obj.data).astype(np.float64)
    piece = np.minimum(points[:, 2] // (4.0 / 3), 2)
    frames = []
    for f in range(8):
        moved = points.copy()
        for p, axis in ((1, 0), (2, 1)):
            angle, height = 0.15 * f * (1 if p == 1 else -1.4), p * 4.0 / 3
            turn = np.array(Matrix.Rotation(angle, 3, "XY"[axis]))
            above = piece >= p
            moved[above] = (moved[above] - (0, 0, height)) @ turn.T + (0.05 * f, 0, height)
        frames.append(moved)
    for f, key in enumerate(scenes.add_shape_keys(obj, frames)[1:]):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=time)
    return obj


def deformations(result):
    """For each vertex its heaviest bone, and for each bone and frame the 4x4 it moves the world by."""
    armature, mesh = result.armature, result.meshes[0]
    names = [group.name for group in mesh.vertex_groups]
    heaviest = [max(v.groups, key=lambda g: g.weight).group for v in mesh.data.vertices]
    motions = {name: [] for name in names}
    for time in TIMES:
        bpy.context.scene.frame_set(time)
        place = armature.matrix_world
        for name in names:
            bone = armature.pose.bones[name]
            motions[name].append(
                np.array(place @ bone.matrix @ bone.bone.matrix_local.inverted() @ place.inverted())
            )
    return [names[group] for group in heaviest], {name: np.array(rows) for name, rows in motions.items()}


@pytest.mark.parametrize("kind", ["SHAPE_KEYS", "PC2", "MDD"])
def test_a_rig_of_the_cache_is_the_same_rig(tmp_path, kind):
    chosen = {"bones": 3, "rest_correction": "FIXED"}
    first = chain.converted(three_pieces(), **chosen)
    (copy,) = baked(first.armature, to=kind, filepath=path_for(tmp_path, kind)).meshes
    second = chain.converted(copy, **chosen)
    stated = first.report.maximum + second.report.maximum
    assert stated < 1e-4 * first.report.size
    (bones, motions), (again, motions_again) = deformations(first), deformations(second)
    pairs = set(zip(bones, again, strict=True))
    assert len(pairs) == 3  # each bone has one that holds the same vertices
    for bone, other in pairs:
        held = scenes.seen(second.meshes[0], 1)[[name == bone for name in bones]]
        moved, moved_again = (
            np.einsum("fij,vj->fvi", m, np.c_[held, np.ones(len(held))])
            for m in (motions[bone], motions_again[other])
        )
        assert np.linalg.norm(moved - moved_again, axis=-1).max() <= stated


# ---- refusals


def refusal(*objects, **chosen):
    before = scenes.picture()
    with pytest.raises(Refusal) as caught:
        baked(*objects, **chosen)
    assert scenes.difference(before, scenes.picture()) == ""
    assert str(caught.value).endswith(".")
    return str(caught.value)


def test_nothing_to_bake_is_refused():
    assert refusal().startswith("Nothing is selected")
    armature = scenes.link(bpy.data.objects.new("Alone", bpy.data.armatures.new("Alone")))
    assert refusal(armature) == "Alone moves no mesh that is visible here: there is nothing to bake."
    camera = scenes.link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
    assert refusal(camera) == "Camera is not a mesh (camera): select mesh objects."


@pytest.mark.parametrize("kind", ["SHAPE_KEYS", "PC2", "ALEMBIC"])
def test_what_does_not_move_is_refused(rig, tmp_path, kind):
    needs(kind)
    rig.armature.data.pose_position = "REST"
    sentence = refusal(rig.armature, to=kind, filepath=path_for(tmp_path, kind))
    assert sentence == "Sheet Rigged does not move between frames 1 and 8: nothing to bake."
    assert not list(tmp_path.iterdir())


def test_a_linked_rig_is_refused(rig, tmp_path):
    name = rig.meshes[0].name
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.objects = [name]
    assert "is linked from library.blend" in refusal(scenes.link(bpy.data.objects[name]))


@pytest.mark.parametrize("kind", list(FILES | EXPORTED))
def test_a_path_that_cannot_be_written_is_refused(rig, tmp_path, kind):
    needs(kind)
    assert "no file" in refusal(rig.armature, to=kind)
    sentence = refusal(rig.armature, to=kind, filepath=path_for(tmp_path / "gone", kind))
    assert "cannot be written: No such file or directory" in sentence
    path = path_for(tmp_path, kind)
    (tmp_path / path).mkdir()
    assert "cannot be written: Is a directory" in refusal(rig.armature, to=kind, filepath=path)
    assert len(list(tmp_path.iterdir())) == 1


def test_changing_vertices_are_refused(tmp_path):
    obj = scenes.growing(scenes.key_shapes(scenes.grid()))
    (tmp_path / "cache.pc2").write_bytes(b"older")
    sentence = refusal(
        obj, to="PC2", filepath=path_for(tmp_path, "PC2"), frames="CUSTOM", frame_start=4, frame_end=6
    )
    assert sentence.startswith("Sheet has 12 vertices in frame 4 and 15 in frame 5: ")
    assert sentence.endswith("only a mesh that keeps its vertices can be baked.")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"older"]


def test_a_build_without_alembic_or_usd_says_so(rig, tmp_path, monkeypatch):
    without = [name for name in dir(bpy.ops.wm) if name not in {"alembic_export", "usd_export"}]
    monkeypatch.setattr(formats, "dir", lambda _module: without, raising=False)
    assert "built without Alembic" in refusal(
        rig.armature, to="ALEMBIC", filepath=path_for(tmp_path, "ALEMBIC")
    )
    assert "built without USD" in refusal(rig.armature, to="USD", filepath=path_for(tmp_path, "USD"))


def test_shapes_at_keys_are_refused_where_there_are_none(tmp_path):
    obj = scenes.cached(scenes.grid(), tmp_path / "wave.pc2")
    assert "has no keys between frames 1 and 8" in refusal(obj, shapes="KEYS")


@pytest.mark.parametrize("kind", ["SHAPE_KEYS", "PC2", "ALEMBIC"])
def test_cancelled_at_every_step(rig, tmp_path, kind):
    needs(kind)
    context, chosen = bpy.context, options.BakeOptions(to=kind, filepath=path_for(tmp_path, kind))
    context.scene.frame_set(3)
    before = scenes.picture()
    for count in itertools.count(1):
        steps = bake.bake(context.scene, context.view_layer, [rig.armature], chosen)
        if len(list(itertools.islice(steps, count))) < count:
            break
        steps.close()
        assert scenes.difference(before, scenes.picture()) == "", f"cancelled after {count} steps"
        assert not list(tmp_path.iterdir())
    assert count > len(rig.armature.ossify.frames)


# ---- the button and the command


def test_the_operator_takes_the_sidebar_and_undoes_in_one_step(rig, tmp_path):
    scenes.select(rig.armature)
    settings = bpy.context.scene.ossify_bake
    settings.to, settings.frame_step = "MDD", 2
    bpy.ops.ed.undo_push(message="before")
    before = scenes.picture()
    path = tmp_path / "a.mdd"
    assert bpy.ops.ossify.bake("EXEC_DEFAULT", True, filepath=str(path)) == {"FINISHED"}
    assert struct.unpack(">ii", path.read_bytes()[:8]) == (4, 81)
    assert bpy.context.view_layer.objects.active.name == "Sheet Rigged Baked"
    bpy.ops.ed.undo()
    assert scenes.difference(before, scenes.picture()) == ""


def test_the_operator_refuses_in_words(rig):
    scenes.select(rig.armature)
    with pytest.raises(RuntimeError, match="no file"):
        bpy.ops.ossify.bake(to="PC2")
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="is in Edit Mode"):
        bpy.ops.ossify.bake()
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = None
    scenes.select(scenes.link(bpy.data.objects.new("Nothing", None)))
    with pytest.raises(RuntimeError, match="is not a mesh"):
        bpy.ops.ossify.bake()


def test_baking_from_pose_mode_stays_there(rig):
    scenes.select(rig.armature)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.ossify.bake()
    assert bpy.context.mode == "POSE"
    assert "Sheet Rigged Baked" in bpy.data.objects
    bpy.ops.object.mode_set(mode="OBJECT")


def test_every_setting_has_words_and_the_default_of_the_function():
    assert panel.OSSIFY_PT_bake.is_registered
    assert operators_bake.OSSIFY_OT_bake.is_registered
    defaults = options.BakeOptions()
    settings = bpy.context.scene.ossify_bake
    for field in options.BAKE_FIELDS:
        prop = settings.bl_rna.properties[field]
        assert prop.name
        assert prop.description
        assert not prop.description.endswith(".")
        assert getattr(settings, field) == getattr(defaults, field)


@pytest.mark.parametrize("suffix", ["pc2", "mdd", "abc", "usdc", "blend"])
def test_the_command_writes_every_kind_of_file(rig, tmp_path, capsys, suffix):
    needs({"abc": "ALEMBIC", "usdc": "USD"}.get(suffix))
    shown = scenes.seen_frames(rig.meshes[0], TIMES)
    scene, out = tmp_path / "scene.blend", tmp_path / "deep" / f"out.{suffix}"
    bpy.ops.wm.save_as_mainfile(filepath=str(scene))
    assert command.main(["bake", str(scene), "--output", str(out), "--quiet"]) == command.DONE
    assert "8 samples" in capsys.readouterr().out
    if suffix in {"abc", "usdc"}:
        assert difference(shown, imported(out)) < NEAR
    elif suffix == "blend":
        bpy.ops.wm.open_mainfile(filepath=str(out))
        assert difference(shown, scenes.seen_frames(bpy.data.objects["Sheet Rigged Baked"], TIMES)) < NEAR
    else:
        assert out.stat().st_size > 8 * 81 * 12


def test_the_command_bakes_the_object_that_is_named_and_says_how_far_it_is(rig, tmp_path, capsys):
    assert rig
    scene, out = tmp_path / "scene.blend", tmp_path / "out.mdd"
    bpy.ops.wm.save_as_mainfile(filepath=str(scene))
    given = ["bake", scene, "--object", "Sheet Rig", "--output", out]
    assert command.main([*map(str, given)]) == command.DONE
    assert "baking, 100 %" in capsys.readouterr().err
    assert struct.unpack(">ii", out.read_bytes()[:8]) == (8, 81)


def test_the_command_refuses_in_words(rig, tmp_path, capsys):
    scene = str(tmp_path / "scene.blend")
    assert rig
    bpy.ops.wm.save_as_mainfile(filepath=scene)
    assert command.main(["bake", scene, "--output", str(tmp_path / "out.glb")]) == command.WRONG
    assert "the ending must be one of" in capsys.readouterr().err
    assert command.main(["bake", scene, "--output", scene]) == command.WRONG
    out = str(tmp_path / "out.pc2")
    assert command.main(["bake", scene, "--output", out, "--frame-step", "0"]) == command.WRONG
    assert command.main(["bake", scene, "--output", out, "--object", "Nobody"]) == command.FAILED
    assert "no object named Nobody" in capsys.readouterr().err
    flags = ["--object", "Sheet Rigged", "--frame-start", "3", "--frame-end", "7", "--frame-step", "2"]
    assert command.main(["bake", scene, "--output", out, *flags]) == command.DONE
    assert "3 samples" in capsys.readouterr().out
