"""Names of bones in a rig: sides are those of mirror images, as Blender flips names."""

import bpy
import pytest
from creature_rigs import converted
from ossify.rig import build


def check_sides(names, mirrors, root):
    """Names that differ in the side alone are those of mirror images, and images have such names."""
    for b, name in enumerate(names):
        other = bpy.utils.flip_name(name)
        if other != name and other in names:
            assert mirrors[b] == names.index(other)
        elif mirrors[b] not in (-1, b):
            assert root in (b, mirrors[b])


@pytest.mark.parametrize("bones", [7, 11, 13])
def test_sides_are_those_of_images_in_a_rig(bones, monkeypatch):
    """With fewer bones than the body has parts, or more, its sides are not alike."""
    plans, plan_bones = [], build.plan_bones
    monkeypatch.setattr(build, "plan_bones", lambda *given: plans.append(plan_bones(*given)) or plans[-1])
    result, _, _ = converted(bones=bones, quality="DRAFT")
    (plan,) = plans
    assert set(plan.names) <= set(result.armature.data.bones.keys())
    assert any(name.endswith(".L") for name in plan.names)
    check_sides(plan.names, plan.skeleton.mirrors, plan.skeleton.root)
