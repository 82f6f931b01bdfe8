"""Body Sliders: a rig whose shape and joints follow properties of its armature."""

import bpy
import numpy as np
import ossify
import pytest
import scenes
from layered import chain
from limbs_of_a_family import family, fitted, joints, like
from mathutils import Matrix
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.family import mirrored, shapes, slider_rig, sliders
from ossify.options.options import SlidersOptions


def made(tube, *bodies, **chosen):
    context = bpy.context
    context.view_layer.update()
    return run(sliders.make(context.scene, context.view_layer, tube, list(bodies), SlidersOptions(**chosen)))


def set_to(armature, values):
    for name, value in zip(slider_rig.record_of(armature)["names"], values, strict=True):
        armature[name] = float(value)
    armature.update_tag()
    bpy.context.view_layer.update()


def by_hand(armature, mesh, values, moves):
    """[v][3] in the world, in doubles: keys, then each bone about its joint as the sliders have it"""
    record, blocks = slider_rig.record_of(armature), mesh.data.shape_keys.key_blocks

    def points(block):
        flat = np.empty(3 * len(mesh.data.vertices), np.float32)
        block.points.foreach_get("co", flat)
        return flat.reshape(-1, 3).astype(float)

    base = points(blocks[0])
    body = base + sum(v * (points(blocks[n]) - base) for n, v in zip(record["names"], values, strict=True))
    world, turns = np.array(armature.matrix_world, float), {}
    to_armature = np.linalg.inv(world) @ np.array(mesh.matrix_world, float)
    rest = np.concatenate([body, np.ones((len(body), 1))], axis=1) @ to_armature.T
    names = [name for name in map(str, armature.data.bones.keys()) if f"Skin {name}" in armature.data.bones]
    above = None
    for b, name in enumerate(names):  # a chain, from its root on
        bone = armature.data.bones[name]
        at = np.eye(4)
        at[:3, :3] = np.array(bone.matrix_local, float)[:3, :3]
        at[:3, 3] = np.array(bone.head_local) + values @ moves[:, b]
        own = at @ np.array(armature.pose.bones[name].matrix_basis, float) @ np.linalg.inv(at)
        above = turns[name] = own if above is None else above @ own
    result, total = np.zeros((len(rest), 4)), np.zeros((len(rest), 1))
    for vertex in mesh.data.vertices:
        for group in vertex.groups:
            name = mesh.vertex_groups[group.group].name.removeprefix("Skin ")
            result[vertex.index] += group.weight * (turns[name] @ rest[vertex.index])
            total[vertex.index] += group.weight
    return (result / total @ world.T)[:, :3]


def known_moves(armature, tube, bodies, count):
    """[k][b][3] from rigs that were fitted to the bodies"""
    heads = [joints(armature)] + [joints(copy) for copy in fitted(tube, *bodies).armatures]
    rests = []
    for obj in (tube, *bodies):
        matrix = np.linalg.inv(np.array(armature.matrix_world)) @ np.array(tube.matrix_world)
        rests.append(scenes.positions(obj.data) @ matrix[:3, :3].T + matrix[:3, 3])
    return shapes.principal(rests, heads, count, np.ones((len(rests[0]), 1)), ["all"]).moves


def test_the_rig_is_what_its_sliders_and_poses_say():
    armature, tube, bodies = family()
    rig = made(tube, *bodies)
    moves = known_moves(armature, tube, bodies, rig.sliders)
    seen = slider_rig.record_of(rig.armature)["seen"]
    size, rng = scenes.size_of(scenes.positions(tube.data)), np.random.default_rng(2)
    for values in (seen[1], seen[3], rng.uniform(seen.min(0), seen.max(0)), 0 * seen[0]):
        set_to(rig.armature, values)
        shown = scenes.seen(rig.mesh, 3)
        assert np.abs(shown - by_hand(rig.armature, rig.mesh, values, moves)).max() < 1e-6 * size
    assert all(curve.driver.is_simple_expression for curve in rig.armature.animation_data.drivers)


def test_at_zero_it_plays_as_the_rig_it_came_from():
    _, tube, bodies = family()
    before = scenes.seen_frames(tube, (1, 4, 7))
    rig = made(tube, *bodies)
    assert np.abs(scenes.seen_frames(rig.mesh, (1, 4, 7)) - before).max() < 1e-5
    assert tube.hide_get()


def test_a_second_rig_of_a_source_that_the_first_has_hidden_is_seen():
    _, tube, bodies = family()
    made(tube, *bodies)
    assert tube.hide_viewport
    assert made(tube, *bodies[:2]).mesh.visible_get()


def test_a_body_that_was_seen_is_found_and_shown():
    _, tube, bodies = family()
    rig = made(tube, *bodies)
    found = sliders.find(rig.armature, bodies[2])
    assert found.percent < 0.01
    assert np.abs(found.sliders - slider_rig.record_of(rig.armature)["seen"][3]).max() < 1e-3
    rig.armature.data.pose_position = "REST"
    bpy.context.view_layer.update()
    assert np.abs(scenes.seen(rig.mesh) - scenes.seen(bodies[2])).max() < 1e-3
    with pytest.raises(Refusal, match="vertices and"):
        sliders.find(rig.armature, scenes.tube("Other", rings=5))


def test_many_sliders_are_summed_through_properties():
    """Expressions end at 255 characters."""
    armature, tube = chain(bones=2, rings=12, width=0.5)
    rng = np.random.default_rng(3)
    bodies = []
    for number in range(21):
        change = rng.normal(scale=0.05, size=(len(tube.data.vertices), 3))
        bodies.append(like(tube, f"Body {number}", lambda points, change=change: points + change))
        bodies[-1].matrix_world = tube.matrix_world
    rig = made(tube, *bodies, count=20)
    expressions = [curve.driver.expression for curve in rig.armature.animation_data.drivers]
    assert rig.sliders == 20
    assert max(map(len, expressions)) <= 255
    assert "Skin spine.0 X 2" in rig.armature
    moves = known_moves(armature, tube, bodies, 20)
    values = slider_rig.record_of(rig.armature)["seen"][5]
    set_to(rig.armature, values)
    size = scenes.size_of(scenes.positions(tube.data))
    difference = scenes.seen(rig.mesh, 3) - by_hand(rig.armature, rig.mesh, values, moves)
    assert np.abs(difference).max() < 1e-5 * size


def test_mirrored_sliders_act_on_both_sides_alike_or_against_each_other():
    _, tube, bodies = family()
    points = scenes.positions(tube.data)
    for number, body in enumerate(bodies):  # thicker on one side, each somewhere else
        own = scenes.positions(body.data)
        own[:, 0] += 0.1 * (own[:, 0] > 0.1) * np.exp(-((own[:, 2] - number) ** 2))
        body.data.vertices.foreach_set("co", own.astype(np.float32).ravel())
        body.data.update()
    image = points * [-1, 1, 1]
    other = np.linalg.norm(image[:, None] - points[None], axis=2).argmin(axis=1)
    kinds = {}
    for images in (False, True):
        rig = made(tube, *bodies, mirrored=images)
        blocks, kinds[images] = rig.mesh.data.shape_keys.key_blocks, []
        base = np.array([point.co for point in blocks[0].points])
        for name in slider_rig.record_of(rig.armature)["names"]:
            key = np.array([point.co for point in blocks[name].points]) - base
            flipped, size = key[other] * [-1, 1, 1], np.abs(key).max()
            signs = [sign for sign in (1, -1) if np.abs(flipped - sign * key).max() < 1e-4 * size]
            kinds[images].append(signs)
        tube.hide_set(False)
    assert [] in kinds[False]
    assert [] not in kinds[True]
    assert {sign for signs in kinds[True] for sign in signs} == {1, -1}


def test_mirrored_sliders_do_not_see_where_bodies_stand():
    _, tube, bodies = family()
    keys, whole = [], scenes.size_of(scenes.positions(tube.data))
    for _ in range(2):
        blocks = made(tube, *bodies, mirrored=True).mesh.data.shape_keys.key_blocks
        keys.append(np.array([[point.co for point in block.points] for block in blocks]))
        tube.hide_set(False)
        bodies[0].data.transform(Matrix.Translation((0.7 * whole, 0, 0)))
        bodies[0].data.update()
    assert keys[0].shape == keys[1].shape
    assert np.abs(keys[1] - keys[0]).max() < 0.01 * whole  # one is brought back by its middle


def test_the_other_side_of_a_vertex_may_lie_between_others():
    tube = scenes.tube(around=40, rings=30)
    tube.data.calc_loop_triangles()
    triangles = np.array([one.vertices for one in tube.data.loop_triangles])
    angle = 2 * np.pi / 40 / 4  # across X every vertex lies amid two others
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    points = scenes.positions(tube.data) @ turn.T

    def bulge(points, side):
        return 0.1 * np.exp(-4 * ((points - [0.3 * side, 0, 1]) ** 2).sum(axis=1))[:, None] * [side, 0.5, 0]

    bodies = np.stack([points + bulge(points, 1), points - bulge(points, 1)])
    mirror = mirrored.mirror_of(bodies, triangles)
    assert mirror.axis == 0
    assert np.median(mirror.shares.max(axis=1)) < 0.6
    assert np.abs(mirror.body(points) - points).max() < 1e-6
    assert np.abs(mirror.body(bodies[0]) - points - bulge(points, -1)).max() < 1e-3


def test_a_body_that_has_no_other_side_is_not_mirrored():
    _, tube, bodies = family()
    rng = np.random.default_rng(5)
    for obj in (tube, *bodies):
        moved = scenes.positions(obj.data) + rng.normal(scale=0.5, size=(len(obj.data.vertices), 3))
        obj.data.vertices.foreach_set("co", moved.astype(np.float32).ravel())
    whole = scenes.picture()
    with pytest.raises(Refusal, match="no mirror image of itself"):
        made(tube, *bodies, mirrored=True)
    assert scenes.difference(whole, scenes.picture()) == ""


def test_it_plays_in_a_file_without_the_extension(tmp_path):
    _, tube, bodies = family()
    rig = made(tube, *bodies)
    values = slider_rig.record_of(rig.armature)["seen"][2]
    set_to(rig.armature, values)
    shown, name = scenes.seen(rig.mesh, 5), rig.mesh.name
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "sliders.blend"))
    ossify.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "sliders.blend"), use_scripts=False)
        assert np.abs(scenes.seen(bpy.data.objects[name], 5) - shown).max() < 1e-6
    finally:
        ossify.register()


def test_buttons():
    _, tube, bodies = family()
    scenes.select(tube, *bodies)
    assert bpy.ops.ossify.body_sliders(count=2) == {"FINISHED"}
    armature = bpy.context.view_layer.objects.active
    names, seen = slider_rig.record_of(armature)["names"], slider_rig.record_of(armature)["seen"]
    assert len(names) == 2
    bpy.ops.ossify.random_body(seed=4)
    values = np.array([armature[name] for name in names])
    assert values.any()
    assert (values <= seen.max(axis=0)).all()
    assert (values >= seen.min(axis=0)).all()
    bpy.ops.ossify.reset_body()
    assert not any(armature[name] for name in names)
    bodies[0].select_set(True)
    assert bpy.ops.ossify.find_body() == {"FINISHED"}
    assert any(armature[name] for name in names)
    assert not bpy.ops.ossify.body_sliders.poll()


def test_what_cannot_have_sliders_is_said():
    armature, tube, bodies = family()
    assert "Select other bodies" in sliders.trouble(tube, [])
    with pytest.raises(Refusal, match="nothing to slide"):
        made(tube, like(tube, "Same", lambda points: points))
    armature.pose.bones[1].constraints.new("LIMIT_ROTATION")
    assert "spine.1 has constraints" in sliders.trouble(tube, bodies)
    rig_record = {slider_rig.RECORD: "no record"}
    assert slider_rig.record_of(rig_record)["names"] == []


@pytest.mark.parametrize("stage", ["Reading", "Building"])
def test_cancelled_it_leaves_the_file_as_it_was(stage):
    _, tube, bodies = family()
    scenes.select(tube, *bodies)
    whole = scenes.picture()
    steps = sliders.make(bpy.context.scene, bpy.context.view_layer, tube, bodies, SlidersOptions())
    while next(steps).stage != stage:
        pass
    steps.close()
    assert scenes.difference(whole, scenes.picture()) == ""
