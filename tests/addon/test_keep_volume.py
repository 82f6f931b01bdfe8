"""Keep Volume: exact, live without Ossify, one step on and off, and known to all that changes a rig."""

import bpy
import chain
import commands
import exchange
import numpy as np
import pytest
import refits
import scenes
import volumes_kept
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.edit import bone_merge, keep_volume, painting
from ossify.files import bake, outputs
from ossify.nodes import bone_points, volume
from ossify.options import options
from ossify.record import changes
from ossify.rig import actions, standing, volumes
from ossify.track import track
from ossify.two_layer import compress

EXACT = 1e-6  # sizes


def apart(a, b):
    """The largest distance, in sizes"""
    return float(np.abs(a - b).max()) / scenes.size_of(b)


def kept_apart(armature, mesh):
    """How far what is shown is off what the library says, in sizes"""
    return apart(volumes_kept.shown(armature, mesh), volumes_kept.expected(armature)[1])


def posed(armature, bone=0):
    """Turns a bone for good, in a pose that no frame has."""
    armature.animation_data_clear()
    armature.pose.bones[bone + 1].rotation_mode = "XYZ"
    armature.pose.bones[bone + 1].rotation_euler = (0.9, 0.3, 0.7)
    bpy.context.view_layer.update()


# ---- what it shows


def test_a_conversion_keeps_the_volume_as_the_library_says():
    result = volumes_kept.tube_rig()
    (mesh,) = result.meshes
    plain, kept = volumes_kept.expected(result.armature)
    assert apart(volumes_kept.shown(result.armature, mesh), kept) < EXACT
    assert apart(plain, kept) > 1e-3
    assert apart(volumes_kept.shown(result.armature, mesh, 0.0), plain) < EXACT
    half = volumes_kept.shown(result.armature, mesh, 0.5)
    assert apart(half, (plain + kept) / 2) < EXACT


def test_the_report_says_what_it_is_worth():
    report = volumes_kept.tube_rig().report
    said = report.to_json()["keep_volume"]
    assert said["rms_percent"] < 0.8 * said["plain_percent"]
    assert abs(said["plain_percent"] - report.percent(report.rms)) < 0.02 * said["plain_percent"]
    assert any(line.startswith("Keep Volume: error") for line in report.lines())


def test_its_error_is_the_one_that_blender_shows():
    result = volumes_kept.tube_rig()
    found = refits.error(result.armature, result.meshes[0], refits.source_frames(result.armature))
    assert abs(result.report.percent(found) - result.report.volume.after) < 1e-3 * result.report.volume.after


def test_the_rest_pose_is_not_touched():
    result = volumes_kept.tube_rig()
    result.armature.data.pose_position = "REST"
    (mesh,) = result.meshes
    shown = scenes.seen(mesh)
    volumes_kept.strength([mesh], 0.0)
    assert apart(shown, scenes.seen(mesh)) < EXACT


def test_the_modifier_stands_after_the_armature_and_before_the_others():
    tube = volumes_kept.tube_rig()
    (mesh,) = tube.meshes
    mesh.modifiers.new("Subdivision", "SUBSURF")
    keep_volume.remove(tube.armature)
    volumes_kept.added(tube.armature)
    assert [modifier.type for modifier in mesh.modifiers] == ["ARMATURE", "NODES", "SUBSURF"]


def test_a_rig_that_moves_is_scaled_and_has_its_mesh_elsewhere():
    result = volumes_kept.tube_rig()
    armature, (mesh,) = result.armature, result.meshes
    armature.location, armature.rotation_euler, armature.scale = (3, -2, 5), (0.4, 0.5, 2.0), (2, 2, 2)
    bpy.context.view_layer.update()
    assert kept_apart(armature, mesh) < 3 * EXACT
    matrix = mesh.matrix_world.copy()
    mesh.location = (1, 2, 3)
    bpy.context.view_layer.update()
    shift = np.array(mesh.matrix_world)[:3, 3] - np.array(matrix)[:3, 3]
    assert np.abs(shift).max() > 1  # linear skinning goes along with its object, and so does this
    with_it = scenes.seen(mesh)
    volumes_kept.strength([mesh], 0.0)
    assert apart(with_it, scenes.seen(mesh)) > 1e-4


def test_several_meshes_of_a_rig():
    sheets = [scenes.key_shapes(scenes.grid(name)) for name in ("A", "B")]
    sheets[1].location.x = 3
    result = chain.converted(*sheets, bones=6, keep_volume=True)
    assert len(volume.meshes_of(result.armature)) == 2
    shown = np.concatenate([volumes_kept.shown(result.armature, mesh) for mesh in result.meshes], axis=1)
    assert apart(shown, volumes_kept.expected(result.armature)[1]) < EXACT


def test_flexible_bones_with_many_influences():
    body, _ = scenes.creature(frames=12)  # six flexible bones of a sheet are huge, and cancel each other
    result = chain.converted(body, bones=6, bone_kind="FLEXIBLE", influences=6, keep_volume=True)
    volumes_kept.added(result.armature)  # to the bones as they are keyed: a shear is not, to the last bit
    (mesh,) = result.meshes
    plain, kept = volumes_kept.expected(result.armature)
    found = volumes_kept.shown(result.armature, mesh) - volumes_kept.shown(result.armature, mesh, 0.0)
    assert np.abs(found - (kept - plain)).max() < EXACT * scenes.size_of(plain)
    assert np.abs(kept - plain).max() > 10 * EXACT * scenes.size_of(plain)


def test_an_animator_may_key_its_strength():
    (mesh,) = volumes_kept.tube_rig().meshes
    modifier = volumes.modifier_of(mesh)
    owner, name = volume.strength_property(modifier)
    path = f"{owner.path_from_id() if owner != modifier else modifier.path_from_id()}"
    path += name if name.startswith("[") else f".{name}"
    volumes_kept.strength([mesh], 0.0)
    assert mesh.keyframe_insert(path, frame=1)
    volumes_kept.strength([mesh], 1.0)
    assert mesh.keyframe_insert(path, frame=11)
    bpy.context.scene.frame_set(6)
    bpy.context.view_layer.update()
    assert 0.2 < volumes_kept.strength_of(mesh) < 0.8


# ---- on and off


def test_added_and_removed_leaves_the_file_as_it_was():
    result = volumes_kept.tube_rig(keep_volume=False)
    before = scenes.picture()
    kept = volumes_kept.added(result.armature)
    assert kept.fit.after < 0.8 * kept.fit.before
    assert kept_apart(result.armature, result.meshes[0]) < EXACT
    assert keep_volume.remove(result.armature) == 1
    assert scenes.difference(before, scenes.picture()) == ""


def test_operators_are_one_undo_step_each():
    result = volumes_kept.tube_rig(keep_volume=False)
    scenes.select(result.armature)
    name = result.armature.name
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.ossify.add_keep_volume() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="added")
    assert volume.is_on(bpy.data.objects[name])
    bpy.ops.ed.undo()
    assert not volume.is_on(bpy.data.objects[name])
    assert not bpy.data.node_groups
    assert not any(map(volumes.is_probe, bpy.data.objects))
    bpy.ops.ed.redo()
    armature = bpy.data.objects[name]
    assert kept_apart(armature, standing.meshes_of(armature)[0]) < EXACT
    assert bpy.ops.ossify.remove_keep_volume() == {"FINISHED"}
    assert not volume.is_on(armature)


def test_fitting_again_keeps_the_strength_and_leaves_nothing_behind():
    result = volumes_kept.tube_rig()
    volumes_kept.strength(result.meshes, 0.25)
    counts = len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.node_groups)
    volumes_kept.added(result.armature)
    assert abs(volumes_kept.strength_of(result.meshes[0]) - 0.25) < 1e-6
    assert (len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.node_groups)) == counts


def test_what_has_none_is_refused_in_words():
    result = volumes_kept.tube_rig(keep_volume=False)
    for verb in (keep_volume.remove, keep_volume.rebind):
        with pytest.raises(Refusal, match="has no Keep Volume"):
            verb(result.armature)
    scenes.select(result.armature)
    with pytest.raises(RuntimeError):
        bpy.ops.ossify.remove_keep_volume()


def test_the_probe_is_no_mesh_of_the_rig():
    result = volumes_kept.tube_rig()
    assert standing.meshes_of(result.armature) == result.meshes
    assert standing.followers(result.armature, result.meshes) == []
    assert all(not volumes.is_probe(obj) for obj in bpy.context.scene.objects)
    assert any(map(volumes.is_probe, bpy.data.objects)) != bone_points.by_bone_info()


# ---- files


def _seen_later(name):
    """As the active rig of a file shows its mesh in a middle frame."""
    bpy.context.scene.frame_set(4)
    return scenes.seen(bpy.data.objects[name])


def test_a_file_opened_without_the_extension(tmp_path):
    import ossify

    result = volumes_kept.tube_rig()
    name = result.meshes[0].name
    before = _seen_later(name)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    ossify.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
        again = _seen_later(name)
    finally:
        ossify.register()
    assert np.array_equal(before, again)


@pytest.mark.parametrize("link", [False, True])
def test_a_rig_in_another_file(tmp_path, link):
    result = volumes_kept.tube_rig()
    name, collection = result.meshes[0].name, result.armature.users_collection[0].name
    before = _seen_later(name)
    path = str(tmp_path / "kept.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(path, link=link) as (_, here):
        here.collections = [collection]
    bpy.context.scene.collection.children.link(here.collections[0])
    bpy.context.view_layer.update()
    assert apart(_seen_later(name), before) < EXACT
    if not link:
        assert (
            kept_apart(
                bpy.data.objects[result.report.worst_object.split(" Rigged")[0] + " Rig"],
                bpy.data.objects[name],
            )
            < EXACT
        )


def test_a_duplicate_follows_its_own_bones_once_it_is_bound_again():
    result = volumes_kept.tube_rig()
    armature, (mesh,) = result.armature, result.meshes
    scenes.select(mesh)
    armature.select_set(True)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.duplicate()
    copy = bpy.context.view_layer.objects.active
    (other,) = standing.meshes_of(copy)
    assert copy != armature
    assert other != mesh
    if not bone_points.by_bone_info():
        assert "follows another rig" in volume.trouble(copy)
        assert keep_volume.rebind(copy) == 1
    assert keep_volume.rebind(copy) == 0
    assert volume.follows(mesh, armature)
    assert volume.trouble(copy) is None
    before = scenes.seen(mesh)
    posed(copy)
    assert np.array_equal(before, scenes.seen(mesh))
    shown = scenes.seen(other)
    posed(armature)
    assert apart(shown, scenes.seen(mesh)) < EXACT


def test_renamed_bones():
    result = volumes_kept.tube_rig()
    before = volumes_kept.shown(result.armature, result.meshes[0])
    for bone in result.armature.data.bones:
        bone.name = f"other {bone.name}"
    bpy.context.view_layer.update()
    if bone_points.by_bone_info():
        assert "renamed" in volume.trouble(result.armature)
        plain = volumes_kept.shown(result.armature, result.meshes[0])  # not half of it
        assert apart(plain, volumes_kept.expected(result.armature)[0]) < EXACT
        assert keep_volume.rebind(result.armature) == 1
    assert apart(volumes_kept.shown(result.armature, result.meshes[0]), before) < EXACT
    assert volume.trouble(result.armature) is None


# ---- what leaves Blender


@pytest.mark.parametrize("ending", ["glb", "fbx"])
def test_exports_carry_the_plain_skin(tmp_path, ending):
    result = volumes_kept.tube_rig()
    times = [item.frame for item in result.armature.ossify.frames]
    volumes_kept.strength(result.meshes, 0.0)
    plain = scenes.seen_frames(result.meshes[0], times)
    volumes_kept.strength(result.meshes, 1.0)
    bpy.context.scene.frame_set(4)
    path = tmp_path / f"tube.{ending}"
    shown = scenes.seen(result.meshes[0])
    assert "plain skin" in outputs.write(path, result.armature, result.meshes, 4)[0]
    assert np.array_equal(scenes.seen(result.meshes[0]), shown)  # it is as it was
    found = exchange.exported_and_imported(result, path)
    exchange.compare(plain, found, exchange.times_of_action(times), 1e-4)


def test_the_command_line_says_what_a_file_carries(tmp_path, capsys):
    commands.save_moving(tmp_path / "sheet.blend", scenes.key_shapes(scenes.grid()))
    for ending, plain in (("glb", True), ("blend", False)):
        out, report = tmp_path / f"rig.{ending}", tmp_path / "report.json"
        given = ("--output", out, "--report", report, "--bones", "4", "--quality", "draft", "--keep-volume")
        assert commands.run("convert", tmp_path / "sheet.blend", *given) == 0
        said = capsys.readouterr().out
        assert "Keep Volume: error" in said
        assert ("carries the plain skin" in said) == ("carries the plain skin" in report.read_text()) == plain
        assert "keep_volume" in report.read_text()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    assert any(map(volumes.modifier_of, bpy.data.objects))


def test_a_motion_that_is_tracked_leaves_it():
    result = volumes_kept.tube_rig()
    before = volumes_kept.expected(result.armature)[1]
    first = result.armature.animation_data.action
    source = result.armature.ossify.sources[0].object
    source.hide_viewport = False
    source.hide_set(False)
    context = bpy.context
    wish = options.TrackOptions(frames="CUSTOM", frame_start=1, frame_end=6)
    done = run(track.track(context.scene, context.view_layer, result.armature, [source], wish))
    assert any("Keep Volume stays" in note for note in done.notes)
    actions.assign(result.armature, first)
    assert apart(volumes_kept.shown(result.armature, result.meshes[0]), before) < EXACT


@pytest.mark.skipif(not bpy.app.build_options.alembic, reason="this Blender has no Alembic")
def test_alembic_holds_what_is_seen(tmp_path):
    result = volumes_kept.tube_rig()
    seen = scenes.seen_frames(result.meshes[0], [4, 7])
    path = str(tmp_path / "tube.abc")
    bpy.ops.wm.alembic_export(filepath=path, start=1, end=12, as_background_job=False)
    names = set(bpy.data.objects.keys())
    bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
    new = [bpy.data.objects[name] for name in set(bpy.data.objects.keys()) - names]
    (mesh,) = [obj for obj in new if obj.type == "MESH" and "Rigged" in obj.name]
    assert apart(scenes.seen_frames(mesh, [4, 7]), seen) < 10 * EXACT
    assert not any("Probe" in obj.name for obj in new)


def _pixels(path):
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(str(path))
    pixels = np.array(image.pixels[:])
    bpy.data.images.remove(image)
    return pixels


def test_a_render_shows_it(tmp_path):
    result = volumes_kept.tube_rig()
    scene = bpy.context.scene
    scene.frame_set(7)
    low, high = (end(scenes.seen(result.meshes[0]), axis=0) for end in (np.min, np.max))
    camera = bpy.data.cameras.new("Camera")
    camera.type, camera.ortho_scale = "ORTHO", 1.1 * float((high - low).max())
    scene.camera = scenes.link(bpy.data.objects.new("Camera", camera))
    scene.camera.location = ((low + high) / 2).tolist()
    scene.camera.location.y -= 20
    scene.camera.rotation_euler = (np.pi / 2, 0, 0)
    render = scene.render
    render.engine, render.resolution_x, render.resolution_y = "CYCLES", 64, 64
    render.film_transparent, render.filepath = True, str(tmp_path / "seen.png")
    render.image_settings.color_mode = "RGBA"
    scene.cycles.samples, scene.cycles.use_denoising = 4, False
    kept = _pixels(tmp_path / "seen.png")
    volumes_kept.strength(result.meshes, 0.0)
    plain = _pixels(tmp_path / "seen.png")
    outline = [int((pixels.reshape(-1, 4)[:, 3] > 0.5).sum()) for pixels in (plain, kept)]
    assert outline[1] > 1.01 * outline[0]  # more of the tube is to be seen


def test_a_bake_holds_what_is_seen(tmp_path):
    result = volumes_kept.tube_rig()
    times = [item.frame for item in result.armature.ossify.frames]
    seen = scenes.seen_frames(result.meshes[0], times)
    wish = options.BakeOptions(to="PC2", filepath=str(tmp_path / "tube.pc2"))
    context = bpy.context
    baked = run(bake.bake(context.scene, context.view_layer, [result.armature], wish))
    assert apart(scenes.seen_frames(baked.meshes[0], times), seen) < EXACT
    assert not any(a.name.startswith(volumes.PREFIX) for a in baked.meshes[0].data.attributes)


# ---- what changes a rig


def test_painted_weights_are_noticed():
    result = volumes_kept.tube_rig()
    assert changes.note(result.armature) == []
    mesh = result.meshes[0]
    mesh.vertex_groups[0].add([0, 1, 2], 0.5, "REPLACE")
    assert "fitted to other weights" in dict(changes.note(result.armature))["VOLUME"]
    volumes_kept.added(result.armature)
    assert "VOLUME" not in dict(changes.note(result.armature))


def test_a_refit_fits_it_again():
    result = volumes_kept.tube_rig()
    mesh = result.meshes[0]
    mesh.vertex_groups[0].add(list(range(40)), 0.5, "REPLACE")
    result.armature.ossify.keep_repainted = False
    assert refits.refitted(result.armature).written
    assert kept_apart(result.armature, mesh) < EXACT
    assert volume.trouble(result.armature) is None


def test_smoothed_weights_have_it_fitted_again():
    result = volumes_kept.tube_rig()
    assert run(painting.smooth(bpy.context, result.armature, 0.5, 5)).changed
    assert kept_apart(result.armature, result.meshes[0]) < EXACT


def test_bones_that_are_merged():
    result = volumes_kept.tube_rig(bones=4)
    names = standing.bone_names(result.armature)
    run(bone_merge.merge(bpy.context, result.armature, names[0], [names[1]]))
    assert kept_apart(result.armature, result.meshes[0]) < EXACT
    assert volume.trouble(result.armature) is None


def test_virtual_bones_ask_for_its_removal():
    result = volumes_kept.tube_rig()
    assert "has Keep Volume" in compress.trouble(result.armature)
    keep_volume.remove(result.armature)
    assert compress.trouble(result.armature) is None
    both = options.Options(keep_volume=True, virtual_bones=20)
    assert "choose one" in options.contradiction(both)


def test_edits_of_a_rig_without_it_add_none():
    result = volumes_kept.tube_rig(keep_volume=False)
    run(painting.smooth(bpy.context, result.armature, 0.5, 5))
    assert not volume.is_on(result.armature)
    assert not bpy.data.node_groups


def test_a_rig_whose_motion_is_gone_is_refused():
    result = volumes_kept.tube_rig(keep_volume=False, keep_motion="NONE")
    for item in list(result.armature.ossify.sources):
        bpy.data.objects.remove(item.object)
    with pytest.raises(Refusal, match="motion"):
        volumes_kept.added(result.armature)


def test_the_groups_can_be_read():
    result = volumes_kept.tube_rig()
    group = volumes.modifier_of(result.meshes[0]).node_group
    assert group.is_modifier
    assert group.description
    for inner in (group, *(node.node_tree for node in group.nodes if node.type == "GROUP")):
        nodes = [node for node in inner.nodes if node.type not in ("FRAME", "GROUP_INPUT", "GROUP_OUTPUT")]
        assert all(node.parent for node in nodes if node.type not in ("SET_POSITION", "POINTS"))
        assert all(node.label for node in inner.nodes if node.type == "FRAME")
        assert all(link.is_valid for link in inner.links)
