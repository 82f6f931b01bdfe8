"""Skeletons found against skeletons known: the `skeleton` section of the bench.

Found bones are matched to true ones by the assignment that maximises sum_v min(w_found, w_true); an edge
counts when it joins a true pair, and a joint's error is its distance from the true joint, in percent of the
diagonal.
"""

import time

import numpy as np

import native

MOST_BONES = 100  # that an automatic count may use


def assignment(gain):
    """[found] the true one of each, -1 none: the largest sum, by shortest augmenting paths."""
    rows, columns = gain.shape
    if rows > columns:
        back = assignment(gain.T)
        match = np.full(rows, -1)
        match[back[back >= 0]] = np.nonzero(back >= 0)[0]
        return match
    cost = gain.max() - gain
    u, v, row_of = np.zeros(rows + 1), np.zeros(columns + 1), np.zeros(columns + 1, int)
    for row in range(1, rows + 1):
        row_of[0], column = row, 0
        least, used = np.full(columns + 1, np.inf), np.zeros(columns + 1, bool)
        way = np.zeros(columns + 1, int)
        while row_of[column]:
            used[column] = True
            reduced = cost[row_of[column] - 1] - u[row_of[column]] - v[1:]
            better = ~used[1:] & (reduced < least[1:])
            least[1:][better], way[1:][better] = reduced[better], column
            open_ = np.where(used, np.inf, least)
            open_[0] = np.inf
            following = int(np.argmin(open_))
            step = open_[following]
            u[row_of[used]] += step
            v[used] -= step
            least[~used] -= step
            column = following
        while column:
            row_of[column] = row_of[way[column]]
            column = way[column]
    match = np.full(rows, -1)
    for column in range(1, columns + 1):
        if row_of[column]:
            match[row_of[column] - 1] = column - 1
    return match


def compare(rig, skeleton, truth):
    """Edges found and joints off, against the truth."""
    weights = truth["weights"].astype(np.float64)
    weights /= weights.sum(axis=1, keepdims=True)
    found = rig.dense_weights().astype(np.float64)
    gain = np.stack([np.minimum(column[:, None], weights).sum(axis=0) for column in found.T])
    match, parents = assignment(gain), truth["parents"]
    true_edges = {frozenset((b, int(p))) for b, p in enumerate(parents) if p >= 0}
    diagonal = np.linalg.norm(np.ptp(truth["rest"].astype(np.float64), axis=0))
    off = []
    for b, p in enumerate(skeleton.parents):
        if p < 0 or match[b] < 0 or match[p] < 0 or frozenset((match[b], match[p])) not in true_edges:
            continue
        child = match[b] if parents[match[b]] == match[p] else match[p]
        off.append(100 * float(np.linalg.norm(skeleton.joints[b] - truth["joints"][child])) / diagonal)
    return {
        "edges": len(off),
        "true_edges": len(true_edges),
        "joint_mean": float(np.mean(off)) if off else None,
        "joint_most": max(off, default=None),
        "root": bool(parents[match[skeleton.root]] < 0) if match[skeleton.root] >= 0 else False,
    }


def held_truth(truth):
    """The rig with the true weights, its bones fitted to them."""
    weights = truth["weights"].astype(np.float64)
    most = int(np.max(np.sum(weights > 0, axis=1)))
    order = np.argsort(-weights, axis=1)[:, :most].astype(np.int32)
    shares = np.take_along_axis(weights, order, axis=1)
    shares /= shares.sum(axis=1, keepdims=True)
    order[shares <= 0] = -1
    held = np.ones(len(weights), np.uint8)
    given = native.Rig(influence_bones=order, influence_weights=shares, held_vertices=held)
    chosen = native.Settings(bones=weights.shape[1], influences=most, rest_mode="fixed", threads=1)
    return native.decompose(truth["rest"], truth["frames"], truth["triangles"], chosen, rig=given)


def graph_joints(path):
    """The joints [n][3] of a .tgf, and its number of bones: nodes come first, then edges, the bones.

    Where d bones meet there are d - 1 joints; ends of single bones are none.
    """
    nodes, edges = (part.split("\n") for part in path.read_text().split("#")[:2])
    at = {line.split()[0]: [float(x) for x in line.split()[1:4]] for line in nodes if line.strip()}
    ends = [name for line in edges for name in line.split()[:2]]
    return np.array([at[name] for name in at for _ in range(ends.count(name) - 1)]), len(ends) // 2


def against_graph(sequence, path):
    """Solved at the graph's number of bones: joints off, mean and most, in percent of the diagonal, found and
    true ones matched so that the sum is least."""
    joints, bones = graph_joints(path)
    plain = native.Settings(bones=bones, jointed=True, threads=1)
    rig, info = native.decompose(sequence["rest"], sequence["frames"], sequence["triangles"], plain)
    skeleton = native.connect(rig, sequence["triangles"], settings=plain)
    found = skeleton.joints[np.asarray(skeleton.parents) >= 0]
    apart = np.linalg.norm(found[:, None] - joints, axis=2)
    match = assignment(apart.max() - apart)
    off = 100 * apart[np.arange(len(found))[match >= 0], match[match >= 0]]
    off /= np.linalg.norm(np.ptp(sequence["rest"].astype(np.float64), axis=0))
    return {
        "bones": bones,
        "erms": info.erms,
        "joint_mean": float(off.mean()),
        "joint_most": float(off.max()),
    }


def edges_by(rig, truth):
    """Edges found by each of the rules that join bones."""
    settings = [(rule, native.Settings(connect=rule, threads=1)) for rule in native.CONNECTS]
    trees = {rule: native.connect(rig, truth["triangles"], settings=chosen) for rule, chosen in settings}
    return {rule: compare(rig, skeleton, truth)["edges"] for rule, skeleton in trees.items()}


def row_of(name, truth):
    """All that is measured on one creature."""
    bones = truth["weights"].shape[1]
    poses = truth["rest"], truth["frames"], truth["triangles"]
    plain = native.Settings(bones=bones, jointed=True, threads=1)
    row = {"name": name, "bones": bones, "noisy": name.endswith("-hinges")}
    rig, _ = held_truth(truth)
    row["held"] = compare(rig, native.connect(rig, truth["triangles"], settings=plain), truth)
    row["held"]["edges_by"] = edges_by(rig, truth)
    began = time.process_time()
    rig, info = native.decompose(*poses, plain)
    solved = time.process_time() - began
    skeleton = native.connect(rig, truth["triangles"], settings=plain)
    share = (time.process_time() - began - solved) / solved
    row["solved"] = {**compare(rig, skeleton, truth), "erms": info.erms, "share": share}
    row["solved"]["edges_by"] = edges_by(rig, truth)
    jointed, skeleton, articulated = native.articulate(*poses, rig, skeleton, plain)
    row["articulated"] = {**compare(jointed, skeleton, truth), "erms": articulated.erms}
    counting = native.Settings(bones=MOST_BONES, budget_kind="parts", threads=1)
    row["counted"] = native.decompose(*poses, counting)[1].bones
    return row


def total(rows, kind):
    """Share of edges, mean and largest joint error over all rows."""
    parts = [row[kind] for row in rows]
    edges = sum(part["edges"] for part in parts)
    return {
        "edges": edges / max(1, sum(part["true_edges"] for part in parts)),
        "joint_mean": sum(p["joint_mean"] * p["edges"] for p in parts if p["edges"]) / max(1, edges),
        "joint_most": max((p["joint_most"] for p in parts if p["edges"]), default=None),
        "roots": sum(part["root"] for part in parts),
        **({} if kind == "articulated" else {"edges_by": total_by(parts)}),
    }


def total_by(parts):
    """Share of edges that each rule found; {} of figures from before they were counted."""
    parts = [part for part in parts if "edges_by" in part]
    true = sum(part["true_edges"] for part in parts)
    return {rule: sum(part["edges_by"][rule] for part in parts) / true for rule in native.CONNECTS if true}


def summary_of(rows):
    def costs_little(row):
        free, jointed = row["solved"]["erms"], row["articulated"]["erms"]
        return jointed <= 1.4 * free or jointed <= free + 0.1

    result = {
        "count": len(rows),
        "within_one": sum(abs(row["counted"] - row["bones"]) <= 1 for row in rows),
        "exact": sum(row["counted"] == row["bones"] for row in rows),
        "articulated_fine": sum(map(costs_little, rows)),
        "share": max((row["solved"]["share"] for row in rows), default=None),
    }
    return {**result, **{kind: total(rows, kind) for kind in ("held", "solved", "articulated")}}
