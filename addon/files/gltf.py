"""glTF files as data: read whole, tidied behind Blender's exporter, and played by the letter of the
specification (Khronos, glTF 2.0), without Blender.

Tidied: a mesh with a skin stands at the root of the scene and has no place of its own, since none would count
(the validator warns of it); bones that never change their size have no scale; what nothing names any more is
gone. For an engine, triangles and vertices stand in the order it draws them (gltf_order.py).
"""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from ..base import whole
from ..base.refusal import Refusal
from . import gltf_order

_MAGIC, _JSON, _BIN = 0x46546C67, 0x4E4F534A, 0x004E4942
_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_UNIT = {"translation": (0.0, 0.0, 0.0), "rotation": (0.0, 0.0, 0.0, 1.0), "scale": (1.0, 1.0, 1.0)}
_ONE_TIME = 1e-4  # seconds: a time that is nearer to a key is the key's
_SAME_SIZE = 1e-4  # a bone whose scale differs by less has none


class Document:
    """The words of a file, and the bytes behind them."""

    def __init__(self, words: dict, buffers: list[bytes]):
        self.words, self.buffers = words, buffers

    @classmethod
    def read(cls, path: Path) -> Document:
        try:
            data = path.read_bytes()
            if path.suffix.lower() == ".glb":
                return cls._of_glb(data)
            words = json.loads(data)
            return cls(words, [_bytes_of(path, item["uri"]) for item in words.get("buffers", ())])
        except (OSError, ValueError, KeyError, struct.error, IndexError) as error:
            raise Refusal(f"{path} could not be read again: {error}.") from None

    @classmethod
    def _of_glb(cls, data: bytes) -> Document:
        magic, _, length = struct.unpack_from("<III", data)
        size, kind = struct.unpack_from("<II", data, 12)
        if magic != _MAGIC or kind != _JSON or length != len(data):
            raise ValueError("it is no .glb, or it is cut")
        rest = data[20 + size :]
        return cls(json.loads(data[20 : 20 + size]), [rest[8:]] if rest else [])

    def write(self, path: Path) -> None:
        """Over a file of the same kind, which nobody reads yet."""
        with whole.in_words(path):
            if path.suffix.lower() == ".glb":
                path.write_bytes(self._glb())
                return
            for item, data in zip(self.words.get("buffers", ()), self.buffers, strict=True):
                (path.parent / unquote(item["uri"])).write_bytes(data)
            path.write_text(json.dumps(self.words, indent=1) + "\n", encoding="utf-8")

    def _glb(self) -> bytes:
        text = json.dumps(self.words, separators=(",", ":")).encode()
        chunks = [(_JSON, text + b" " * (-len(text) % 4))]
        chunks += [(_BIN, bytes(data) + bytes(-len(data) % 4)) for data in self.buffers[:1]]
        body = b"".join(struct.pack("<II", len(data), kind) + data for kind, data in chunks)
        return struct.pack("<III", _MAGIC, 2, 12 + len(body)) + body

    def named(self, kind: str) -> list[dict]:
        return self.words.get(kind, [])

    # ---- arrays

    def _view(self, number: int, offset: int, count: int, width: int, component: int) -> np.ndarray:
        view, dtype = self.words["bufferViews"][number], np.dtype(_TYPES[component])
        start = view.get("byteOffset", 0) + offset
        stride = view.get("byteStride", width * dtype.itemsize)
        data = self.buffers[view["buffer"]]
        return np.ndarray((count, width), dtype, data, start, (stride, dtype.itemsize))

    def array(self, number: int) -> np.ndarray:
        """[n][width] float64 of an accessor"""
        item = self.words["accessors"][number]
        count, width, kind = item["count"], _WIDTHS[item["type"]], item["componentType"]
        out = np.zeros((count, width))
        if "bufferView" in item:
            out[:] = self._view(item["bufferView"], item.get("byteOffset", 0), count, width, kind)
        if "sparse" in item:
            few, (rows, values) = item["sparse"], (item["sparse"][name] for name in ("indices", "values"))
            at = self._view(
                rows["bufferView"], rows.get("byteOffset", 0), few["count"], 1, rows["componentType"]
            )
            out[at[:, 0].astype(np.int64)] = self._view(
                values["bufferView"], values.get("byteOffset", 0), few["count"], width, kind
            )
        if item.get("normalized"):
            out /= np.iinfo(_TYPES[kind]).max
        return out

    # ---- written over

    def put(self, number: int, rows: np.ndarray) -> None:
        """Other values into an accessor that is not sparse."""
        item = self.words["accessors"][number]
        width, kind = _WIDTHS[item["type"]], item["componentType"]
        self._writable(item["bufferView"])
        self._view(item["bufferView"], item.get("byteOffset", 0), item["count"], width, kind)[:] = rows

    def permute(self, number: int, order: np.ndarray, new: np.ndarray) -> None:
        """Its rows in another order; new: the inverse of order"""
        item = self.words["accessors"][number]
        width, kind = _WIDTHS[item["type"]], item["componentType"]
        if "bufferView" in item:
            self._writable(item["bufferView"])
            rows = self._view(item["bufferView"], item.get("byteOffset", 0), item["count"], width, kind)
            rows[:] = rows[order]
        if "sparse" in item:
            few, (at, values) = item["sparse"], (item["sparse"][name] for name in ("indices", "values"))
            self._writable(at["bufferView"])
            self._writable(values["bufferView"])
            places = self._view(
                at["bufferView"], at.get("byteOffset", 0), few["count"], 1, at["componentType"]
            )
            rows = self._view(values["bufferView"], values.get("byteOffset", 0), few["count"], width, kind)
            moved = new[places[:, 0].astype(np.int64)]
            rows[:], places[:, 0] = rows[np.argsort(moved)], np.sort(moved)  # they must rise

    def _writable(self, view: int) -> None:
        number = self.words["bufferViews"][view]["buffer"]
        if not isinstance(self.buffers[number], bytearray):
            self.buffers[number] = bytearray(self.buffers[number])


def _bytes_of(path: Path, uri: str) -> bytes:
    if uri.startswith("data:"):
        raise ValueError("its data are in the text")
    return (path.parent / unquote(uri)).read_bytes()


# ---- tidied


def _to_roots(words: dict) -> None:
    skinned = [number for number, node in enumerate(words.get("nodes", ())) if "skin" in node]
    for node in words.get("nodes", ()):
        left = [child for child in node.get("children", ()) if child not in skinned]
        if len(left) < len(node.get("children", ())):
            node["children"] = left
            if not left:
                del node["children"]
    for number in skinned:
        for name in (*_UNIT, "matrix"):
            words["nodes"][number].pop(name, None)
    for scene in words.get("scenes", ()):
        scene["nodes"] = list(dict.fromkeys([*scene.get("nodes", ()), *skinned]))


def _without_scale(document: Document) -> None:
    """Of bones that have none to speak of."""
    words = document.words
    joints = {joint for skin in words.get("skins", ()) for joint in skin["joints"]}
    sized = set()
    for animation in words.get("animations", ()):
        scales = [c for c in animation["channels"] if c["target"].get("path") == "scale"]
        for channel in scales:
            node = channel["target"]["node"]
            values = document.array(animation["samplers"][channel["sampler"]]["output"])
            if node not in joints or np.abs(values - 1).max() > _SAME_SIZE:
                sized.add(node)
    for number in joints - sized:
        if np.abs(np.array(words["nodes"][number].get("scale", _UNIT["scale"])) - 1).max() > _SAME_SIZE:
            sized.add(number)
        else:
            words["nodes"][number].pop("scale", None)
    for animation in words.get("animations", ()):
        left = [
            channel
            for channel in animation["channels"]
            if channel["target"].get("path") != "scale" or channel["target"]["node"] in sized
        ]
        animation["channels"] = left or animation["channels"]
        _drop_samplers(animation)


def _drop_samplers(animation: dict) -> None:
    used = sorted({channel["sampler"] for channel in animation["channels"]})
    animation["samplers"] = [animation["samplers"][number] for number in used]
    for channel in animation["channels"]:
        channel["sampler"] = used.index(channel["sampler"])


def _holders(words: dict) -> list[tuple[dict, str]]:
    """All places that name an accessor."""
    found = [(skin, "inverseBindMatrices") for skin in words.get("skins", ())]
    for animation in words.get("animations", ()):
        found += [(sampler, name) for sampler in animation["samplers"] for name in ("input", "output")]
    for mesh in words.get("meshes", ()):
        for part in mesh["primitives"]:
            found += [
                (some, name) for some in (part["attributes"], *part.get("targets", ())) for name in some
            ]
            found.append((part, "indices"))
    return [(holder, name) for holder, name in found if name in holder]


def _renumber(words: dict, kind: str, holders: list[tuple[dict, str]]) -> list[int]:
    """Leaves out what none of the holders names; the old numbers of what is left."""
    used = sorted({holder[name] for holder, name in holders})
    number = {old: new for new, old in enumerate(used)}
    for holder, name in holders:
        holder[name] = number[holder[name]]
    words[kind] = [words[kind][old] for old in used]
    return used


def _compact(document: Document) -> None:
    """Data that nothing names leave the file."""
    words = document.words
    extended = any("extensions" in item for kind in ("meshes", "bufferViews") for item in words.get(kind, ()))
    if len(document.buffers) != 1 or extended:
        return  # an extension may name what this does not know
    before = len(words["accessors"])
    _renumber(words, "accessors", _holders(words))
    if len(words["accessors"]) == before:
        return
    holders = [(item, "bufferView") for item in words["accessors"] if "bufferView" in item]
    for item in words["accessors"]:
        holders += [
            (item["sparse"][name], "bufferView") for name in ("indices", "values") if "sparse" in item
        ]
    holders += [(image, "bufferView") for image in words.get("images", ()) if "bufferView" in image]
    _renumber(words, "bufferViews", holders)
    data, old = bytearray(), document.buffers[0]
    for view in words["bufferViews"]:
        start = view.get("byteOffset", 0)
        data += bytes(-len(data) % 4)
        view["byteOffset"], part = len(data), old[start : start + view["byteLength"]]
        data += part
    words["buffers"][0]["byteLength"] = len(data)
    document.buffers[0] = bytes(data)


def _rename(words: dict, plain) -> None:
    """Names by `plain`, numbered where two become one."""
    for kind in ("nodes", "meshes", "skins", "animations", "materials"):
        taken: set[str] = set()
        for item in words.get(kind, ()):
            if "name" in item:
                wanted = name = plain(item["name"])
                number = 2
                while name in taken:
                    name, number = f"{wanted}_{number}", number + 1
                taken.add(name)
                item["name"] = name


def tidy(path: Path, plain=None) -> None:
    """plain: what makes of a name one that an engine takes"""
    document = Document.read(path)
    _to_roots(document.words)
    _without_scale(document)
    _compact(document)
    if plain is not None:
        _rename(document.words, plain)
        gltf_order.reorder(document)
    document.write(path)


# ---- played


def _slerp(a: np.ndarray, b: np.ndarray, share: np.ndarray) -> np.ndarray:
    """[f][4] the shorter way round"""
    cosine = (a * b).sum(axis=1, keepdims=True)
    b, cosine = np.where(cosine < 0, -b, b), np.abs(cosine)
    angle = np.arccos(np.clip(cosine, 0, 1))
    sine = np.sin(angle)
    near = sine < 1e-6
    safe = np.where(near, 1.0, sine)
    first = np.where(near, 1 - share, np.sin((1 - share) * angle) / safe)
    return first * a + np.where(near, share, np.sin(share * angle) / safe) * b


def _sampled(document: Document, sampler: dict, path: str, seconds: np.ndarray) -> np.ndarray:
    """[f][...] the value of a channel at these times"""
    times = document.array(sampler["input"])[:, 0]
    values, kind = document.array(sampler["output"]), sampler.get("interpolation", "LINEAR")
    if path == "weights":
        values = values.reshape(len(times) * (3 if kind == "CUBICSPLINE" else 1), -1)
    at = np.clip(seconds, times[0], times[-1])
    key = times[np.abs(times[None] - at[:, None]).argmin(axis=1)]
    at = np.where(np.abs(key - at) < _ONE_TIME, key, at)
    left = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 1)
    right = np.minimum(left + 1, len(times) - 1)
    span = times[right] - times[left]
    share = np.where(span > 0, (at - times[left]) / np.where(span > 0, span, 1), 0)[:, None]
    if kind == "STEP":
        return values[left]
    if kind == "CUBICSPLINE":
        into, knots, out = values.reshape(len(times), 3, -1).swapaxes(0, 1)
        cube, square, span = share**3, share**2, span[:, None]
        found = (2 * cube - 3 * square + 1) * knots[left] + span * (cube - 2 * square + share) * out[left]
        found += (3 * square - 2 * cube) * knots[right] + span * (cube - square) * into[right]
    elif path == "rotation":
        found = _slerp(values[left], values[right], share)
    else:
        found = (1 - share) * values[left] + share * values[right]
    return found / np.linalg.norm(found, axis=1, keepdims=True) if path == "rotation" else found


def _matrices(place: dict[str, np.ndarray]) -> np.ndarray:
    """[f][4][4] of translation, rotation and scale"""
    x, y, z, w = place["rotation"].T
    out = np.zeros((len(x), 4, 4))
    out[:, 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], 1)
    out[:, 1, :3] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], 1)
    out[:, 2, :3] = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], 1)
    out[:, :3, :3] *= place["scale"][:, None, :]
    out[:, :3, 3], out[:, 3, 3] = place["translation"], 1
    return out


def _world(document: Document, animation: dict, seconds: np.ndarray) -> tuple[np.ndarray, dict]:
    """[n][f][4][4] of all nodes, and the weights of morph targets by node"""
    nodes, count = document.named("nodes"), len(seconds)
    channels: dict[tuple[int, str], np.ndarray] = {}
    for channel in animation.get("channels", ()):
        path, sampler = channel["target"]["path"], animation["samplers"][channel["sampler"]]
        channels[channel["target"].get("node", -1), path] = _sampled(document, sampler, path, seconds)
    local = np.empty((len(nodes), count, 4, 4))
    for number, node in enumerate(nodes):
        if "matrix" in node:
            local[number] = np.array(node["matrix"]).reshape(4, 4).T
            continue
        still = {name: np.tile(node.get(name, unit), (count, 1)) for name, unit in _UNIT.items()}
        local[number] = _matrices({name: channels.get((number, name), still[name]) for name in _UNIT})
    world = local.copy()
    queue = [child for scene in document.named("scenes") for child in scene.get("nodes", ())]
    while queue:
        number = queue.pop()
        for child in nodes[number].get("children", ()):
            world[child] = world[number] @ local[child]
            queue.append(child)
    return world, {node: value for (node, path), value in channels.items() if path == "weights"}


def _shaped(document: Document, part: dict, amounts: np.ndarray | None, count: int) -> np.ndarray:
    """[f][v][3] the points of a primitive with its morph targets, before it is skinned"""
    points = np.tile(document.array(part["attributes"]["POSITION"]), (count, 1, 1))
    for number, target in enumerate(part.get("targets", ())):
        if amounts is not None and "POSITION" in target:
            points += amounts[:, number, None, None] * document.array(target["POSITION"])
    return points


def _influences(document: Document, part: dict, most: int) -> tuple[np.ndarray, np.ndarray]:
    """[v][k] the strongest joints of each vertex, no more than an engine takes, and their weights"""
    sets = sorted(name for name in part["attributes"] if re.fullmatch(r"JOINTS_\d+", name))
    joints = np.hstack([document.array(part["attributes"][name]) for name in sets]).astype(np.int64)
    weights = np.hstack([document.array(part["attributes"][f"WEIGHTS_{name[7:]}"]) for name in sets])
    order = np.argsort(-weights, axis=1, kind="stable")[:, :most]
    joints, weights = (np.take_along_axis(some, order, axis=1) for some in (joints, weights))
    return joints, weights / weights.sum(axis=1, keepdims=True)


def play(document: Document, animation: dict | None, seconds: np.ndarray, most: int = 16) -> np.ndarray:
    """[f][v][3] the vertices of all skinned meshes, with Blender's axes; animation None: at rest"""
    world, amounts = _world(document, animation or {}, seconds)
    found = []
    for number, node in enumerate(document.named("nodes")):
        if "skin" not in node or "mesh" not in node:
            continue
        skin = document.named("skins")[node["skin"]]
        inverse = document.array(skin["inverseBindMatrices"]).reshape(-1, 4, 4).swapaxes(1, 2)
        moved = world[skin["joints"]] @ inverse[:, None]  # [j][f][4][4]
        for part in document.named("meshes")[node["mesh"]]["primitives"]:
            points = _shaped(document, part, amounts.get(number), len(seconds))
            joints, weights = _influences(document, part, most)
            out = np.zeros_like(points)
            for joint, weight in zip(joints.T, weights.T, strict=True):
                for frame in range(len(seconds)):
                    turn = moved[joint, frame]
                    out[frame] += weight[:, None] * (
                        np.einsum("vrc,vc->vr", turn[:, :3, :3], points[frame]) + turn[:, :3, 3]
                    )
            found.append(out)
    if not found:
        return np.zeros((len(seconds), 0, 3))
    points = np.concatenate(found, axis=1)
    return np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)
