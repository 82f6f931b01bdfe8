"""What operators work on: the active rig, selected meshes and bones; and what they say when there is none."""

from ..rig.standing import is_rig
from . import session


def _active_first(context) -> list:
    """The selected objects, or the active one when nothing is selected."""
    selected = sorted(context.selected_objects, key=lambda obj: obj.name)
    active = context.view_layer.objects.active
    if active is not None and (active in selected or not selected):
        selected = [active, *(obj for obj in selected if obj != active)]
    return selected


def chosen_objects(context) -> list:
    """The meshes to convert: the active one first. What is not a mesh is left out if any mesh is selected."""
    selected = _active_first(context)
    meshes = [obj for obj in selected if obj.type == "MESH"]
    return meshes or selected


def rig_around(obj):
    """The armature of the rig that an object belongs to, or None."""
    if obj is not None and obj.type == "MESH":
        obj = obj.parent
    return obj if is_rig(obj) else None


def rig_of(context):
    """That of the active object."""
    return rig_around(context.view_layer.objects.active) if context.view_layer else None


def rigs_and_meshes(context) -> list:
    """What to bake: the selected armatures and meshes, the active one first."""
    found = _active_first(context)
    return [obj for obj in found if obj.type in {"ARMATURE", "MESH"}] or found


def is_selected(bone) -> bool:
    """Of a pose bone, in Blender 5 and before."""
    return bone.select if hasattr(bone, "select") else bone.bone.select


def allowed(operator, trouble: str | None) -> bool:
    """For polls: whether nothing is in the way; if something is, the sentence is the button's tooltip."""
    if trouble:
        operator.poll_message_set(trouble.rstrip("."))
    return not trouble


def allowed_now(operator, trouble: str | None) -> bool:
    """The same for operators that wait until nothing else is at work."""
    return allowed(operator, session.BUSY if session.current is not None else trouble)


class OfRig:
    """An operator on the active rig."""

    @classmethod
    def poll(cls, context):
        return allowed(
            cls, None if rig_of(context) is not None else "The active object is not a rig made by Ossify"
        )


class OfIdleRig(OfRig):
    """One that waits until nothing else is at work."""

    @classmethod
    def poll(cls, context):
        return allowed_now(cls, None) and super().poll(context)


class OfBones(OfRig):
    """An operator on selected pose bones of the active rig."""

    needed = 2

    @classmethod
    def selected(cls, context) -> list[str]:
        pose = rig_of(context).pose.bones
        return sorted(bone.name for bone in pose if bone.bone.use_deform and is_selected(bone))

    @classmethod
    def poll(cls, context):
        if not super().poll(context):
            return False
        fits = context.mode == "POSE" and len(cls.selected(context)) == cls.needed
        words = "two bones that deform" if cls.needed == 2 else "one bone that deforms"
        return allowed(cls, None if fits else f"Select {words} the mesh, in Pose Mode")
