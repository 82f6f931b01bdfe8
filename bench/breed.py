"""Makes a made-up creature; runs in a Python that has bpy:  breed.py OUTFOLDER swing,hinges NAME [SEED]

bones     of a rigify metarig, without those the bestiary leaves out
body      capsules around the bones, remeshed to one closed surface; small parts get smaller triangles
weights   Blender's automatic ones, at most 4 bones a vertex; bones that move next to nothing go to their
          parents before anything moves
motion    every joint turns, the root also moves: "swing" about all axes; "hinges" about one fixed axis each,
          one joint in seven nearly stiff, and with noise on all frames
frames    as Blender's armature modifier deforms the body
SEED      other than 0: a relative of the creature, thinner here and thicker there, finer or coarser, in
          another motion
"""

import heapq
import importlib
import math
import os
import re
import sys
import zlib
from pathlib import Path

import bpy  # brings the modules below along

# isort: split
import addon_utils
import bmesh
import mathutils
import numpy as np

from bestiary import CREATURES, Bone

FRAMES = 60
INFLUENCES = 4
LEAST_OWNED = 8  # vertices a bone must have more than half of
STIFF_ONE_IN = 7
STIFF_ANGLE = math.radians(2)
NOISE = 0.0005  # of the diagonal
GRADING = 0.85  # triangles' size follows girth to this power
THINNEST, THICKEST = 0.8, 1.25  # a relative's girths
COARSEST, FINEST = 0.7, 1.6  # and its number of vertices


class Failure(Exception):
    """One sentence."""


def relative(creature, random):
    girths = tuple((name, girth * random.uniform(THINNEST, THICKEST)) for name, girth in creature.girths)
    return creature._replace(
        girths=girths, vertices=round(creature.vertices * random.uniform(COARSEST, FINEST))
    )


def random_of(name, seed, what):
    """A generator of its own for each use; creatures of seed 0 are older than the seed."""
    return np.random.default_rng([zlib.crc32(name.encode()), what, *([seed] if seed else [])])


# ---- bones


def empty_scene():
    for data in (bpy.data.objects, bpy.data.meshes, bpy.data.armatures):
        for item in list(data):
            data.remove(item)


def in_scene(name, data):
    thing = bpy.data.objects.new(name, data)
    bpy.context.collection.objects.link(thing)
    bpy.context.view_layer.objects.active = thing
    return thing


def metarig_bones(module):
    addon_utils.enable("rigify", default_set=True)
    rig = in_scene("metarig", bpy.data.armatures.new("metarig"))
    importlib.import_module(f"rigify.metarigs.{module}").create(rig)
    bpy.ops.object.mode_set(mode="OBJECT")
    bones = [
        Bone(
            bone.name, bone.parent.name if bone.parent else "", tuple(bone.head_local), tuple(bone.tail_local)
        )
        for bone in rig.data.bones
    ]
    empty_scene()
    return bones


def without(bones, gone):
    """The bones but those whose names are in gone; their children go to the next bone above."""
    above = {bone.name: bone.parent for bone in bones}

    def kept(name):
        while name in gone:
            name = above[name]
        return name

    return [bone._replace(parent=kept(bone.parent)) for bone in bones if bone.name not in gone]


def parents_first(bones):
    placed = {""}
    ordered = []
    while len(ordered) < len(bones):
        ready = [bone for bone in bones if bone.parent in placed and bone.name not in placed]
        if not ready:
            raise Failure("the bones are no tree.")
        ordered += ready
        placed.update(bone.name for bone in ready)
    return ordered


def bones_of(creature):
    bones = list(creature.bones) or metarig_bones(creature.metarig)
    bones = without(bones, {bone.name for bone in bones if re.match(creature.without, bone.name)})
    if sum(not bone.parent for bone in bones) != 1:
        raise Failure("there is not exactly one root.")
    return parents_first(bones)


# ---- body


def nearest_on(points, head, tail):
    """The points of a segment nearest to points [...][3]."""
    head, tail = np.asarray(head), np.asarray(tail)
    along = (points - head) @ (tail - head) / max((tail - head) @ (tail - head), 1e-30)
    return head + np.clip(along, 0, 1)[..., None] * (tail - head)


def capsules(creature, bones):
    """(head, tail, radius) of each bone, and of the flesh from its parent where it begins elsewhere."""
    of = {bone.name: bone for bone in bones}
    found = [(bone.head, bone.tail, creature.girth(bone.name)) for bone in bones]
    for bone in bones:
        if bone.parent:
            parent = of[bone.parent]
            start = nearest_on(np.array(bone.head), parent.head, parent.tail)
            radius = min(creature.girth(bone.name), creature.girth(parent.name))
            if np.linalg.norm(start - bone.head) > radius / 4:
                found.append((tuple(start), bone.head, radius))
    return found


def ball_points():
    ball = bmesh.new()
    bmesh.ops.create_icosphere(ball, subdivisions=3, radius=1)
    points = np.array([vertex.co for vertex in ball.verts])
    ball.free()
    return points


def capsule_mesh(segments):
    ball, whole = ball_points(), bmesh.new()
    for head, tail, radius in segments:
        points = [
            whole.verts.new(centre + radius * p) for centre in map(np.array, (head, tail)) for p in ball
        ]
        hull = bmesh.ops.convex_hull(whole, input=points)
        swallowed = [
            v for v in {*hull["geom_interior"], *hull["geom_unused"]} if isinstance(v, bmesh.types.BMVert)
        ]
        bmesh.ops.delete(whole, geom=swallowed, context="VERTS")
    mesh = bpy.data.meshes.new("capsules")
    whole.to_mesh(mesh)
    whole.free()
    return mesh


def evaluated(thing):
    """Vertices [v][3] and triangles [t][3] with modifiers applied."""
    mesh = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    mesh.calc_loop_triangles()
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    triangles = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", triangles)
    thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh_clear()
    return points.reshape(-1, 3), triangles.reshape(-1, 3)


def fine_surface(segments):
    thing = in_scene("capsules", capsule_mesh(segments))
    remesh = thing.modifiers.new("remesh", "REMESH")
    remesh.mode = "VOXEL"
    remesh.voxel_size = min(radius for *_, radius in segments) / 2.5
    smooth = thing.modifiers.new("smooth", "SMOOTH")
    smooth.iterations = 4
    surface = evaluated(thing)
    empty_scene()
    return surface


def wanted_sizes(points, segments):
    """How long edges may be at each point, up to a common factor."""
    depth = np.full(len(points), np.inf)
    size = np.empty(len(points))
    for head, tail, radius in segments:
        outside = np.linalg.norm(points - nearest_on(points, head, tail), axis=1) - radius
        nearer = outside < depth
        depth[nearer], size[nearer] = outside[nearer], radius**GRADING
    return size


class Collapse:
    """Edges of a closed surface collapse, the shortest against the wanted size first."""

    def __init__(self, points, triangles, sizes):
        self.at, self.size = [tuple(p) for p in points.tolist()], sizes.tolist()
        self.corners = [tuple(t) for t in triangles.tolist()]
        self.around = [set() for _ in self.at]  # triangles of a vertex
        for t, corners in enumerate(self.corners):
            for v in corners:
                self.around[v].add(t)
        self.heap = []

    def length(self, v, w):
        return math.dist(self.at[v], self.at[w]) / (self.size[v] + self.size[w])

    def entry(self, v, w):
        return self.length(v, w), min(v, w), max(v, w)

    def neighbours(self, v):
        return {w for t in self.around[v] for w in self.corners[t]} - {v}

    def turns_over(self, v, new, shared):
        """Whether a triangle of v would flip or fall flat."""
        for t in self.around[v] - shared:
            a, b, c = (self.at[w] for w in self.corners[t])
            p, q, r = (new if w == v else self.at[w] for w in self.corners[t])
            before, after = normal(a, b, c), normal(p, q, r)
            across = sum(x * y for x, y in zip(before, after, strict=True))
            if across < 0.2 * math.hypot(*before) * math.hypot(*after):
                return True
        return False

    def collapse(self, v, w):
        """w into v; False when the surface would not stay one."""
        beside = self.neighbours(v), self.neighbours(w)
        shared = self.around[v] & self.around[w]
        common = beside[0] & beside[1]
        if len(shared) != 2 or len(common) != 2 or any(len(self.around[u]) < 5 for u in common):
            return False
        middle = tuple((x + y) / 2 for x, y in zip(self.at[v], self.at[w], strict=True))
        if self.turns_over(v, middle, shared) or self.turns_over(w, middle, shared):
            return False
        for t in shared:
            for u in self.corners[t]:
                self.around[u].discard(t)
            self.corners[t] = None
        for t in self.around[w]:
            self.corners[t] = tuple(v if u == w else u for u in self.corners[t])
            self.around[v].add(t)
        self.around[w] = set()
        self.at[v], self.size[v] = middle, (self.size[v] + self.size[w]) / 2
        for u in self.neighbours(v):
            heapq.heappush(self.heap, self.entry(v, u))
        return True

    def all_edges(self):
        for corners in self.corners:
            for i in range(3 if corners else 0):
                if corners[i - 1] < corners[i]:
                    yield self.entry(corners[i - 1], corners[i])

    def relax(self):
        """Every vertex goes half the way to the middle of its neighbours, along the surface."""
        for v in (v for v, near in enumerate(self.around) if near):
            around = sorted(self.neighbours(v))
            middle = [sum(self.at[w][i] for w in around) / len(around) for i in range(3)]
            normals = [normal(*(self.at[w] for w in self.corners[t])) for t in sorted(self.around[v])]
            up = [sum(n[i] for n in normals) for i in range(3)]
            long = math.hypot(*up) or 1
            step = [(middle[i] - self.at[v][i]) / 2 for i in range(3)]
            lift = sum(step[i] * up[i] for i in range(3)) / long**2
            self.at[v] = tuple(self.at[v][i] + step[i] - lift * up[i] for i in range(3))

    def down_to(self, vertices):
        """In rounds: a relaxed surface lets edges collapse that could not before."""
        left, before = len(self.at), math.inf
        while vertices < left < before:
            before = left
            self.relax()
            self.heap = sorted(self.all_edges())
            while left > vertices and self.heap:
                length, v, w = heapq.heappop(self.heap)
                stale = w not in self.neighbours(v) or length != self.length(v, w)
                left -= not stale and self.collapse(v, w)
        if left > vertices:
            raise Failure(f"the body keeps {left} vertices instead of {vertices}.")

    def surface(self):
        kept = [v for v, near in enumerate(self.around) if near]
        number = {v: i for i, v in enumerate(kept)}
        triangles = [[number[v] for v in corners] for corners in self.corners if corners]
        return np.array([self.at[v] for v in kept], np.float32), np.array(triangles, np.int32)


def normal(a, b, c):
    u, v = [b[i] - a[i] for i in range(3)], [c[i] - a[i] for i in range(3)]
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


def refuse_broken(points, triangles):
    """The surface must be closed and one piece."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    undirected, times = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
    if (times != 2).any() or len(np.unique(edges, axis=0)) != len(edges):
        raise Failure("the body is not a closed surface.")
    label = np.arange(len(points))
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, undirected[:, 0], label[undirected[:, 1]])
        np.minimum.at(lowest, undirected[:, 1], label[undirected[:, 0]])
        lowest = lowest[lowest]
        if np.array_equal(lowest, label):
            break
        label = lowest
    if label.any():
        raise Failure(f"the body falls into {len(np.unique(label))} pieces.")


def body_of(creature, bones):
    segments = capsules(creature, bones)
    points, triangles = fine_surface(segments)
    sizes = wanted_sizes(points.astype(np.float64), segments)
    collapse = Collapse(points, triangles, sizes)
    collapse.down_to(creature.vertices)
    collapse.relax()
    points, triangles = collapse.surface()
    refuse_broken(points, triangles)
    return points, triangles


# ---- weights


def armature_of(bones):
    rig = in_scene("rig", bpy.data.armatures.new("rig"))
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in bones:
        edit = rig.data.edit_bones.new(bone.name)
        edit.head, edit.tail = bone.head, bone.tail
        edit.parent = rig.data.edit_bones.get(bone.parent)
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def body_object(points, triangles):
    mesh = bpy.data.meshes.new("body")
    mesh.from_pydata(points.tolist(), [], triangles.tolist())
    return in_scene("body", mesh)


def automatic_weights(points, triangles, bones):
    """[v][b], by Blender's bone heat"""
    rig, body = armature_of(bones), body_object(points, triangles)
    body.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    column = {bone.name: b for b, bone in enumerate(bones)}
    of_group = {group.index: column[group.name] for group in body.vertex_groups}
    weights = np.zeros((len(points), len(bones)))
    for v, vertex in enumerate(body.data.vertices):
        for part in vertex.groups:
            weights[v, of_group[part.group]] = part.weight
    empty_scene()
    if (weights.sum(axis=1) <= 0).any():
        raise Failure("Blender's automatic weights left vertices without a bone.")
    return weights


def mirrored(name):
    return re.sub(r"\.([LR])(?=\.|$)", lambda side: ".R" if side.group(1) == "L" else ".L", name)


def merge_idle(bones, weights):
    """Bones that own next to nothing go to their parents, the least one first, on both sides."""
    while True:
        owned = np.sum(weights > 0.5 * weights.sum(axis=1, keepdims=True), axis=0)
        least = 1 + int(np.argmin(owned[1:]))
        if owned[least] >= LEAST_OWNED:
            break
        names = [bone.name for bone in bones]
        for name in {bones[least].name, mirrored(bones[least].name)} & set(names):
            b = names.index(name)
            weights[:, names.index(bones[b].parent)] += weights[:, b]
        kept = without(bones, {bones[least].name, mirrored(bones[least].name)})
        weights = weights[:, [names.index(bone.name) for bone in kept]]
        bones = kept
    if owned[0] < LEAST_OWNED:
        raise Failure("the root moves nothing.")
    return bones, weights


def limited(weights):
    weights = weights.copy()
    weak = np.argsort(-weights, axis=1, kind="stable")[:, INFLUENCES:]
    np.put_along_axis(weights, weak, 0, axis=1)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


# ---- motion


def waves(random, count, low, high):
    """[f][count] of smooth swings: each its own height, speed and phase"""
    time = np.arange(FRAMES)[:, None] * (2 * math.pi / FRAMES)
    cycles, phase = random.uniform(0.7, 2.3, count), random.uniform(0, 2 * math.pi, count)
    return random.uniform(low, high, count) * np.sin(cycles * time + phase)


def swing(random, bones):
    """Rotation vectors [f][b][3] in the bones' own axes"""
    return np.stack([waves(random, 3, 0.15, 0.5) for _ in bones], axis=1), {}


def hinges(random, bones):
    """The same about one axis each, across the bone; the root stays free."""
    count = len(bones)
    stiff = np.zeros(count, bool)
    stiff[1 + random.permutation(count - 1)[: round((count - 1) / STIFF_ONE_IN)]] = True
    angles = waves(random, count, 0.3, 0.8)
    angles[:, stiff] *= STIFF_ANGLE / np.abs(angles[:, stiff]).max(axis=0)
    turn = random.uniform(0, 2 * math.pi, count)
    axes = np.stack([np.cos(turn), np.zeros(count), np.sin(turn)], axis=1)
    turns = angles[:, :, None] * axes
    turns[:, 0] = waves(random, 3, 0.15, 0.5)
    return turns, {"stiff": stiff, "axes": axes}


VARIANTS = {"swing": swing, "hinges": hinges}


def bind(body, rig, bones, weights):
    for bone, column in zip(bones, weights.T, strict=True):
        group = body.vertex_groups.new(name=bone.name)
        for v in np.flatnonzero(column):
            group.add([int(v)], float(column[v]), "REPLACE")
    body.modifiers.new("rig", "ARMATURE").object = rig


def played(rig, body, bones, turns, moves):
    """frames [f][v][3], as Blender deforms the body"""
    frames = []
    for turn, move in zip(turns, moves, strict=True):
        for bone, vector in zip(bones, turn, strict=True):
            angle = float(np.linalg.norm(vector))
            pose = rig.pose.bones[bone.name]
            pose.rotation_mode = "QUATERNION"
            pose.rotation_quaternion = mathutils.Quaternion(vector / max(angle, 1e-30), angle)
        rig.pose.bones[bones[0].name].location = move
        bpy.context.view_layer.update()
        frames.append(evaluated(body)[0])
    return np.stack(frames)


def in_rest(rig, bones, axes):
    """Axes of the bones' own as directions in the rest pose"""
    return np.stack(
        [
            np.array(rig.data.bones[bone.name].matrix_local.to_3x3()) @ axis
            for bone, axis in zip(bones, axes, strict=True)
        ]
    )


def arrays_of(random, variant, points, triangles, bones, weights):
    diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
    rig, body = armature_of(bones), body_object(points, triangles)
    bind(body, rig, bones, weights)
    turns, known = VARIANTS[variant](random, bones)
    frames = played(rig, body, bones, turns, waves(random, 3, 0.05 * diagonal, 0.15 * diagonal))
    if variant == "hinges":
        frames = frames + random.normal(0, NOISE * diagonal, frames.shape)
        known["axes"] = in_rest(rig, bones, known["axes"]).astype(np.float32)
    empty_scene()
    names = [bone.name for bone in bones]
    return {
        "rest": points,
        "frames": frames.astype(np.float32),
        "triangles": triangles,
        "weights": weights,
        "joints": np.array([bone.head for bone in bones], np.float32),
        "tails": np.array([bone.tail for bone in bones], np.float32),
        "parents": np.array([names.index(b.parent) if b.parent else -1 for b in bones], np.int32),
        "names": np.array(names),
        **known,
    }


def make(name, variants, folder, seed):
    creature = CREATURES[name]
    if seed:
        creature = relative(creature, random_of(name, seed, len(VARIANTS)))
    empty_scene()
    bones = bones_of(creature)
    points, triangles = body_of(creature, bones)
    bones, weights = merge_idle(bones, automatic_weights(points, triangles, bones))
    weights = limited(weights)
    for variant in variants:
        path = folder / (f"{name}.npz" if variant == "swing" else f"{name}-{variant}.npz")
        whole = path.with_suffix(".part")
        random = random_of(name, seed, list(VARIANTS).index(variant))
        arrays = arrays_of(random, variant, points, triangles, bones, weights)
        with open(whole, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(whole, path)
        print(f"{path.stem}: {len(bones)} bones, {len(points)} vertices", flush=True)


def main():
    folder, variants, name = Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3]
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    code = 0
    try:
        make(name, variants, folder, seed)
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr, flush=True)
        code = 1
    os._exit(code)  # bpy as a package may crash while it unloads


if __name__ == "__main__":
    main()
