"""The rig to a file for other programs, as the command line writes it."""

from pathlib import Path

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..base.refusal import Refusal
from ..engine import export
from ..engine.contract import ENGINES, ITEMS, plain
from ..files import outputs, overlaps, retarget
from ..rig import standing
from .chosen import OfIdleRig, rig_of
from .modal import FAILURES, fail

_KINDS = [
    (".glb", "glTF Binary", "One file for game engines and the web"),
    (".gltf", "glTF", "Text, with its data and pictures beside it"),
    (".fbx", "FBX", "Without leaf bones, and with no key simplified away"),
    (".usdc", "USD", "Universal Scene Description"),
]


class OSSIFY_OT_export(OfIdleRig, bpy.types.Operator):
    """Write the active rig, its meshes and all its clips to a file, with the settings that lose nothing"""

    bl_idname = "ossify.export"
    bl_label = "Export Rig"

    kind: EnumProperty(name="Format", description="What kind of file is written", items=_KINDS)
    names: EnumProperty(
        name="Bone Names",
        description="What the bones are called in the file; for rigs that were converted with Names > Human",
        items=retarget.NAMES,
    )
    filepath: StringProperty(name="File", description="File to write", subtype="FILE_PATH")
    filter_glob: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    check_existing: BoolProperty(default=True, options={"HIDDEN", "SKIP_SAVE"})

    def _path(self) -> Path:
        path = Path(bpy.path.abspath(self.filepath))
        known = [kind for kind, _, _ in _KINDS]
        return path.with_suffix(self.kind) if path.suffix.lower() in known else Path(f"{path}{self.kind}")

    def invoke(self, context, _event):
        name = bpy.path.clean_name(rig_of(context).name) + self.kind
        self.filepath = bpy.path.abspath(f"//{name}") if bpy.data.filepath else name
        self.filter_glob = f"*{self.kind}"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def check(self, _context):
        """While the file dialog is open: the ending that belongs to the choice."""
        wanted = str(self._path())
        changed, self.filepath = wanted != self.filepath, wanted
        return changed

    def execute(self, context):
        def write(armature, path) -> str:
            influences = armature.ossify.settings.influences
            outputs.write(path, armature, standing.meshes_of(armature), influences, self.names)
            return path.name

        return _written(self, context, write)


def _written(operator, context, write):
    """Runs `write` with the rig and the path in Object Mode, and leaves mode and selection as they were."""
    armature, path, layer = rig_of(context), operator._path(), context.view_layer
    mode, active, selected = context.mode, layer.objects.active, list(context.selected_objects)
    try:
        if not operator.filepath:
            raise Refusal("Name a file to write the rig to.")
        outputs.prepare(path, "File")
        overlaps.Guard([("File", path)]).reads(overlaps.of_scene())
        if mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        said = write(armature, path)
    except FAILURES as error:
        return fail(operator, error)
    finally:
        for obj in layer.objects:
            obj.select_set(obj in selected)
        layer.objects.active = active
        if mode == "POSE":
            bpy.ops.object.mode_set(mode="POSE")
    operator.report({"INFO"}, f"{armature.name}: {said}")
    return {"FINISHED"}


class OSSIFY_OT_export_engine(OfIdleRig, bpy.types.Operator):
    """Write the active rig as an engine takes it, read the file again, and say how close it is"""

    bl_idname = "ossify.export_engine"
    bl_label = "Export for Engine"

    engine: EnumProperty(name="Engine", description="What the file is for", items=ITEMS)
    filepath: StringProperty(name="File", description="File to write", subtype="FILE_PATH")
    filter_glob: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    check_existing: BoolProperty(default=True, options={"HIDDEN", "SKIP_SAVE"})

    def _path(self) -> Path:
        path, endings = Path(bpy.path.abspath(self.filepath)), ENGINES[self.engine].endings
        known = {ending for engine in ENGINES.values() for ending in engine.endings}
        if path.suffix.lower() in endings:
            return path
        return path.with_suffix(endings[0]) if path.suffix.lower() in known else Path(f"{path}{endings[0]}")

    def invoke(self, context, _event):
        endings = ENGINES[self.engine].endings
        name = plain(rig_of(context).name) + endings[0]
        self.filepath = bpy.path.abspath(f"//{name}") if bpy.data.filepath else name
        self.filter_glob = ";".join(f"*{ending}" for ending in endings)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def check(self, _context):
        """While the file dialog is open: an ending that belongs to the choice."""
        wanted = str(self._path())
        changed, self.filepath = wanted != self.filepath, wanted
        return changed

    def execute(self, context):
        def write(armature, path) -> str:
            meshes, influences = standing.meshes_of(armature), armature.ossify.settings.influences
            notes = export.write(path, armature, meshes, influences, ENGINES[self.engine]).notes
            return " ".join([f"{path.name},", *reversed(notes)])

        return _written(self, context, write)


CLASSES = (OSSIFY_OT_export, OSSIFY_OT_export_engine)


def _draw_menu(self, _context) -> None:
    self.layout.operator_menu_enum(OSSIFY_OT_export.bl_idname, "kind", text="Ossify Rig", icon="EXPORT")
    name = OSSIFY_OT_export_engine.bl_idname
    self.layout.operator_menu_enum(name, "engine", text="Ossify Rig for Engine", icon="EXPORT")


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.TOPBAR_MT_file_export.append(_draw_menu)


def unregister() -> None:
    bpy.types.TOPBAR_MT_file_export.remove(_draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
