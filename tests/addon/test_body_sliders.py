"""Body Sliders: a rig whose shape and joints follow properties of its armature."""

import bpy
import numpy as np
import ossify
import pytest
import scenes
from layered import chain
from limbs_of_a_family import fitted, joints, like, stretched
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.family import shapes, slider_rig, sliders
from ossify.options.options import SlidersOptions

FAMILY = [(1.0, 1.9, 1.2), (1.8, 0.9, 0.8), (1.4, 1.2, 2.0), (0.9, 1.0, 1.1)]


def family():
    """A rigged tube, and others with other lengths; all joints go where a third of the lengths end."""
    armature, tube = chain(bones=3, rings=16, width=0.5)
    bodies = [
        like(
            tube,
            f"Body {number}",
            lambda points, lengths=lengths, wide=wide: stretched(points, lengths, wide),
        )
        for number, (lengths, wide) in enumerate(zip(FAMILY, (1.0, 1.4, 0.8, 1.1), strict=True))
    ]
    for body in bodies:
        body.matrix_world = tube.matrix_world
    return armature, tube, bodies


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
        assert np.abs(shown - by_hand(rig.armature, rig.mesh, values, moves)).max() < 1e-5 * size
    assert all(curve.driver.is_simple_expression for curve in rig.armature.animation_data.drivers)


def test_at_zero_it_plays_as_the_rig_it_came_from():
    _, tube, bodies = family()
    before = scenes.seen_frames(tube, (1, 4, 7))
    rig = made(tube, *bodies)
    assert np.abs(scenes.seen_frames(rig.mesh, (1, 4, 7)) - before).max() < 1e-5
    assert tube.hide_get()


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
