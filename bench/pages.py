"""docs/benchmarks.md from the bench's results: ratios first, then errors and seconds."""

STARTS = ("grown", "faces", "spectral", "tried")
RULES = ("both", "overlap", "stable")
LAYER_BARS = {
    "delta": ("below the paper on all", "0.6 of it"),
    "e": ("at or below on all but one", "below on all; 0.75 of it"),
}
FEW_VIRTUAL = 200
HAND = "<!-- From here on written by hand; the bench keeps it. -->"


def number(value, digits=2, unit=""):
    return "-" if value is None else f"{value:.{digits}f}{unit}"


def percent(share):
    return "-" if share is None else "none" if share == 0 else f"{100 * share:.2f} %"


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def pair(a, b, unit=""):
    return f"{number(a, unit=unit)} / {number(b, unit=unit)}"


def summary_rows(kept):
    """what, figure, at least, goal"""
    if r := kept.get("table2"):
        what = "E_RMS against SSDR's Table 2 (best, rest free, plain least squares): mean / worst"
        yield what, pair(r["mean"], r["worst"]), "0.62 / 0.85", "0.55 / 0.80"
    if r := kept.get("defaults"):
        yield (
            "the same with rest kept and local weights",
            pair(r["mean"], r["worst"]),
            "0.70 / 0.95",
            "0.60 / 0.85",
        )
    for rest, least, goal in (("untouched", "0.95", "0.80"), ("smooth", "0.75", "0.65")):
        if r := kept.get(rest):
            yield f"the same with fairness, rest {rest}", pair(r["mean"], r["worst"]), least, goal
    if r := kept.get("surface"):
        what = "normals against the better of Dem Bones' settings, rest untouched: mean / worst"
        yield what, pair(r["mean"], r["worst"]), "0.75", "0.50"
    if r := kept.get("locality"):
        figure = f"{percent(r['stray'])} / {percent(r['stray_at_5'])}"
        yield "vertices with stray weight, worst row (regions above 0.02 / 0.05)", figure, "0.1 %", "none"
        yield (
            "what local weights cost in E_RMS: mean / worst",
            pair(r["mean"], r["worst"], "x"),
            "1.06x / 1.2x",
            "1.0x / 1.1x",
        )
    if r := kept.get("known"):
        yield "known rigs found: worst E_RMS", number(r["worst"], 4), "0.02", "the true rig's"
    if r := kept.get("correctives"):
        yield from correctives_summary(r)
    if r := kept.get("layers"):
        yield from layers_summary(r)
    if r := kept.get("speed"):
        for setting, least, goal in (("default", "60x / 25x", "100x / 30x"), ("accurate", "25x", "40x")):
            s = r[setting]
            missed = f" ({s['missed']} not reached)" if s["missed"] else ""
            figure = pair(s["mean"], s["least"], "x") + missed
            yield f"time to Dem Bones' {setting} error: mean / least", figure, least, goal
    if r := kept.get("normal"):
        figure = pair(r["mean"], r["least"], "x")
        yield "whole run (normal) against Dem Bones' most accurate: mean / least", figure, "10x", "30x"
        yield (
            "... and its error against theirs: mean / worst",
            pair(r["error"], r["error_worst"]),
            "below 1",
            "",
        )
    if r := kept.get("starts"):
        for start in STARTS[1:]:
            what = f"start `{start}` against the default: E_RMS / seconds"
            yield what, pair(r[start]["error"], r[start]["seconds"], "x"), "", ""
    if r := kept.get("iteration"):
        what = f"one iteration against its matrix product ({r['name']} {r['bones']})"
        yield what, number(r["ratio"], 1, "x"), "8x", "3x"
    if r := kept.get("scaling"):
        yield (
            "cost of an iteration by V x F, 10,000 to 1,000,000 vertices",
            f"within {r['ratio']:.2f}x",
            "1.5x",
            "flat",
        )
    if r := kept.get("threads"):
        figure = number(r["ratio"], 2, "x") + ("" if r["same"] else ", with another answer!")
        yield "two threads against one", figure, "1.6x", "1.9x"
    if r := kept.get("memory"):
        what = f"peak memory, {r['vertices']:,} vertices x {r['frames']} frames x {r['bones']} bones, draft"
        yield what, number(r["peak"] / 1e9, 2, " GB"), "8 GB", "7 GB"
    if r := kept.get("skeleton"):
        yield from skeleton_summary(r)
    if r := kept.get("roundtrip"):
        yield from roundtrip_summary(r)
    if r := kept.get("deleted"):
        what = "a bone deleted in Blender by default, against one less, same skeleton: mean / worst, likewise"
        figure = f"{number(r['mean'], 3, 'x')} / {number(r['worst']['cheapest'], 3, 'x')}"
        yield what, f"{figure}, {number(r['worst']['middle'], 3, 'x')}", "1.05x", "below 1x"
    if r := kept.get("blender"):
        what = f"capture and build in Blender against the default solve ({label(r)} as a .pc2)"
        yield what, number(r["ratio"], 2), "0.33", ""


def found(part):
    joints = f"{number(part['joint_mean'], 3)} %, {number(part['joint_most'], 2)} %"
    return f"{100 * part['edges']:.1f} % / {joints}"


def by_rule(part):
    return " / ".join(f"{100 * part['edges_by'][rule]:.1f} %" for rule in RULES)


def rule_summary(r):
    for kind, name in (("exact", "creatures"), ("noisy", "hinges, stiff joints, noise")):
        for held, what in (("held", "true weights held"), ("solved", "solved")):
            if r[kind][held].get("edges_by"):
                yield f"{name}, {what}: edges by {', '.join(RULES)}", by_rule(r[kind][held]), "", "both best"


def skeleton_summary(r):
    exact, noisy = r["exact"], r["noisy"]
    joints = "edges / joints off, mean, most"
    if exact["count"]:
        count = exact["count"]
        yield f"true weights held ({count} creatures): {joints}", found(exact["held"]), "99 % / 0.1 %", "all"
        what = f"solved at the true count: {joints}"
        yield what, found(exact["solved"]), "97 % / 0.2 %, 1 %", "all / 0.05 %, 0.3 %"
        yield "roots found", f"{exact['solved']['roots']} of {count}", "all", ""
        figure = f"{exact['exact']} exact, {exact['within_one']} within 1, of {count}"
        yield "bones counted by themselves", figure, "within 1", "exact"
        figure = f"{exact['articulated_fine']} of {count}"
        yield "articulated within 1.4x or 0.1 E_RMS of free bones", figure, "all", "1.05x"
        what = "skeleton step against the decomposition: largest share"
        yield what, percent(exact["share"]), "5 %", "1 %"
    if noisy["count"]:
        what = f"hinges, stiff joints, noise ({noisy['count']}), true weights held: {joints}"
        yield what, found(noisy["held"]), "90 % / 1 %", "97 % / 0.5 %"
        yield f"the same, solved at the true count: {joints}", found(noisy["solved"]), "", ""
    yield from rule_summary(r)
    if graph := r.get("graph"):
        figure = f"{number(graph['joint_mean'], 2)} %, {number(graph['joint_most'], 2)} %"
        yield f"{label(graph)}, solved: joints off, mean, most", figure, "3 %", ""


def roundtrip_summary(r):
    yield "everything held, refit", "not a bit changes" if r["held"] else "changes!", "not a bit", ""
    yield "nothing changed, refit: worst error", number(r["unchanged"], 4, "x"), "1x", "below it"
    deleted = r["deleted"]
    what = "a bone deleted, against a solve with one less: mean / worst of the cheapest, of the middle one"
    figure = f"{number(r['deleted_mean'], 3, 'x')} / {number(deleted['cheapest']['relocates'], 3, 'x')}"
    yield what, f"{figure}, {number(deleted['middle']['relocates'], 3, 'x')}", "1.05x", "below 1x"
    yield "1 % of the vertices repainted: worst error", number(r["repainted"], 4, "x"), "1x", "below it"
    what = "a bone added at the worst place: mean error / worst; a solve with one more: mean"
    figure = pair(r["added_mean"]["relocates"], r["added"]["relocates"], "x")
    yield what, f"{figure}; {number(r['solved_mean'], 2, 'x')}", "below 1x", "as the solve"
    what = "refit after a small edit against a full solve, time: mean / least"
    yield what, pair(r["edit"]["mean"], r["edit"]["least"], "x"), "5x", "20x"
    what = "tracking a frame against its share of a full solve, time: mean / least"
    yield what, pair(r["track"]["mean"], r["track"]["least"], "x"), "20x", "50x"
    if c := r.get("clips"):
        what = f"{label(c)}, {c['count']} clips together / one long clip: edges, joints off at most"
        figure = " / ".join(
            f"{c[kind]['edges']} of {c[kind]['true_edges']}, {number(c[kind]['joint_most'], 3)} %"
            for kind in ("clips", "long")
        )
        yield what, figure, "as good", ""


def summary(kept):
    return table(("what", "figure", "at least", "goal"), summary_rows(kept))


def label(row):
    return f"{row['name']} {row['bones']}"


def table_2_page(title, r):
    yield f"## {title}"
    rows = (
        [
            label(row),
            number(row["paper"], 1),
            number(row["erms"]),
            number(row["ratio"]),
            number(row["seconds"], 1),
        ]
        for row in r["rows"]
    )
    yield from table(("sequence, bones", "SSDR", "Ossify", "ratio", "s"), rows)


def surface_page(r):
    yield "## Normals in degrees (defaults, rest untouched)"
    rows = (
        [
            label(row),
            *(number(peer["normal_degrees"]) for peer in row["peers"]),
            number(row["normal_degrees"]),
            number(row["ratio"]),
        ]
        for row in r["rows"]
    )
    yield from table(
        ("sequence, bones", "Dem Bones default", "accurate", "Ossify", "ratio to the better"), rows
    )


def locality_page(r):
    yield "## Local weights and what they cost (quality best, rest kept)"
    head = ("sequence, bones", "E_RMS local", "plain", "ratio", "stray at 0.02", "at 0.05", "rest moved by")
    rows = (
        [
            label(row),
            number(row["erms"]),
            number(row["plain"]),
            number(row["ratio"]),
            percent(row["stray"]),
            percent(row["stray_at_5"]),
            number(row["rest_drift"], 1),
        ]
        for row in r["rows"]
    )
    yield from table(head, rows)
    yield ""
    yield "Stray: vertices with more than 5 % of weight on bones outside these bones' main connected regions."
    yield "The rest pose's move is root mean square, in thousandths of the tight sphere's radius."


def known_page(r):
    yield "## Known rigs (quality best, rest fixed)"
    rows = (
        [
            label(row),
            number(row["erms"], 4),
            number(row["truth"], 4),
            percent(row["stray"]),
            number(row["seconds"], 1),
        ]
        for row in r["rows"]
    )
    yield from table(("sequence, bones", "E_RMS", "the true weights'", "stray", "s"), rows)


def correctives_summary(r):
    what = "five correctives against the brackets of Table 2 (best, rest free, rigid): mean / worst"
    yield what, pair(r["mean"], r["worst"]), "below each", "0.60 / 0.90"
    bars = (("0.95", "0.85"), ("2.0", "1.6"))
    for row, (least, goal) in zip(r["flexible"], bars, strict=False):
        yield f"... flexible, {label(row)}: E_RMS", number(row["erms"]), least, goal
    what = "articulated with five correctives, in turns, against free bones without: worst"
    worst = max((row["ratio"] for row in r["articulated"]), default=None)
    yield what, number(worst, 2, "x"), "1.0x", "0.7x"
    what = "driven correctives on frames left out, share of the gain of keyed ones: mean / least"
    yield what, f"{percent_whole(r['kept'])} / {percent_whole(r['kept_least'])}", "60 %", "80 %"
    what = "normals with correctives against without: mean / worst"
    yield what, pair(r["normals"], r["normals_worst"], "x"), "1x", "0.8x"
    yield "correctives against the decomposition, time", percent(r["time"]), "30 %", "10 %"


def percent_whole(share):
    return "-" if share is None else f"{100 * share:.0f} %"


def correctives_page(r):
    yield "## Correctives of rank 5 against the brackets of SSDR's Table 2 (best, rest free, plain)"
    head = ("sequence, bones", "bones alone", "SSDR", "Ossify", "ratio", "normals", "s", "of the solve")
    rows = (
        [
            label(row),
            number(row["bare"]),
            number(row["paper"], 1),
            number(row["erms"]),
            number(row["ratio"]),
            f"{number(row['normals_bare'])} -> {number(row['normals'])}",
            number(row["seconds"], 2),
            percent(row["share"]),
        ]
        for row in r["rigid"]
    )
    yield from table(head, rows)
    yield ""
    yield "Normals: of faces in the frames, root mean square, degrees, without and with correctives."
    yield ""
    yield "Flexible bones (normal) and joints that hold (normal, in turns), without and with five:"
    yield ""
    rows = [
        [f"{label(row)}, flexible", number(row["bare"]), number(row["erms"]), "-", "-"]
        for row in r["flexible"]
    ]
    rows += [
        [
            f"{label(row)}, articulated",
            number(row["bare"]),
            number(row["erms"]),
            number(row["free"]),
            number(row["ratio"]),
        ]
        for row in r["articulated"]
    ]
    yield from table(("sequence, bones", "bones alone", "with five", "free bones", "ratio to those"), rows)
    yield ""
    yield "Driven, on frames that were left out (normal, rest kept; bones tracked there):"
    yield ""
    rows = (
        [
            label(row),
            row["how"],
            number(row["bare"]),
            number(row["keyed"]),
            number(row["driven"]),
            percent_whole(row["share"]),
            row["form"],
            number(row["seconds"], 1),
        ]
        for row in r["driven"]
    )
    head = ("sequence, bones", "left out", "bones alone", "keyed", "driven", "of the gain", "form", "s")
    yield from table(head, rows)


def layers_summary(r):
    for what, name in (("delta", "Delta_W, Table 2"), ("e", "E from poses, Table 3")):
        s = r[what]
        figure = f"{pair(s['mean'], s['worst'])}, {s['above']} of {s['count']} above"
        yield f"two layers against Le & Deng 2013, {name}: mean / worst", figure, *LAYER_BARS[what]
    for row, (least, goal) in zip(r["rigid"], (("1.7", "1.5"), ("3.2", "2.8")), strict=False):
        yield f"200 virtual bones on rigid masters, {label(row)}: E_RMS", number(row["erms"]), least, goal
    for source, ratio in r["sooner"].items():
        what = f"the paper's algorithm as printed against ours at equal error, from {source}, time: mean"
        yield what, number(ratio, 2, "x"), "2x", "5x"
    for source, growth in (r["sizes"] or {"growth": {}})["growth"].items():
        what = f"cost when the vertices double, {FEW_VIRTUAL} virtual bones, from {source}"
        yield what, number(growth, 2, "x"), "2.2x", "2x"


def layers_page(r):
    yield "## Two layers against Tables 2 and 3 of Le & Deng 2013 (flexible bones, two a vertex)"
    head = ("sequence, bones", "E dense")
    for blended in (4, 8):
        head += (f"Delta_W to {blended}", "paper", f"E to {blended}", "paper")
    rows = []
    for row in r["tables"]:
        cells = [label(row), number(row["dense"])]
        for cell in row["cells"]:
            cells += [number(cell["delta"]), number(cell["paper_delta"], 1)]
            cells += [number(cell["e"]), number(cell["paper_e"], 1)]
        rows.append(cells)
    yield from table(head, rows)
    yield ""
    yield "Delta_W from weights, E from poses. To k bones a vertex are m = (k - 2) n / c virtual bones, each"
    yield "of at most c = 12 (k = 4) or 16 (k = 8) bones. The paper's bones are of another decomposition."
    yield ""
    yield "Until as near as the algorithm as it is printed comes with all m, to four bones a vertex:"
    yield ""
    head = ("sequence, bones", "c", "from", "Delta", "printed: m", "s", "here: m", "s", "times sooner")
    rows = (
        [
            label(row),
            str(row["masters"]),
            row["source"],
            number(row["printed"]["delta"]),
            str(row["printed"]["virtual"]),
            number(row["printed"]["seconds"]),
            str(row["ours"]["virtual"]),
            number(row["ours"]["seconds"]),
            number(row["ratio"]),
        ]
        for row in r["printed"]
    )
    yield from table(head, rows)
    if sizes := r["sizes"]:
        yield ""
        yield f"{label(sizes)}, {sizes['frames']} frames, made finer, {FEW_VIRTUAL} virtual bones:"
        yield ""
        rows = (
            [f"{row['vertices']:,}", *(number(s) for s in row["seconds"].values())] for row in sizes["rows"]
        )
        yield from table(("vertices", *(f"from {s}, s" for s in sizes["growth"])), rows)


def speed_page(r):
    yield "## Time to Dem Bones' errors (defaults of both, one thread)"
    head = ["sequence, bones"]
    for setting in ("default", "accurate"):
        head += [f"its {setting} E_RMS", "its s", "ours s", "times sooner"]
    rows = []
    for row in r["rows"]:
        cells = [label(row)]
        for setting in ("default", "accurate"):
            s = row.get(setting)
            if s is None:
                cells += ["-"] * 4
                continue
            found = s["peer"]["bones"]
            fewer = f" ({found} bones)" if found != row["bones"] else ""
            sooner = number(s["ratio"], 0, "x") if s["ratio"] else "not reached"
            cells += [
                number(s["peer"]["erms"]) + fewer,
                number(s["peer"]["seconds"], 1),
                number(s["seconds"], 3),
                sooner,
            ]
        rows.append(cells)
    yield from table(head, rows)


def normal_page(r):
    yield "## Whole runs: quality normal against Dem Bones' most accurate setting"
    head = ("sequence, bones", "E_RMS", "its", "ratio", "s", "its", "times sooner", "stray", "its")
    rows = (
        [
            label(row),
            number(row["erms"]),
            number(row["peer"]["erms"]),
            number(row["ratio"]),
            number(row["seconds"]),
            number(row["peer"]["seconds"], 1),
            number(row["sooner"], 0, "x"),
            percent(row["stray"]),
            percent(row["peer"]["stray"]),
        ]
        for row in r["rows"]
    )
    yield from table(head, rows)


def starts_page(r):
    yield "## Starts (quality normal)"
    head = ["sequence, bones", *(f"E_RMS {start}" for start in STARTS), *(f"s {start}" for start in STARTS)]
    rows = (
        [
            label(row),
            *(number(row["starts"][start]["erms"], 4 if row["known"] else 2) for start in STARTS),
            *(number(row["starts"][start]["seconds"]) for start in STARTS),
        ]
        for row in r["rows"]
    )
    yield from table(head, rows)
    yield ""
    for start in STARTS[1:]:
        s = r[start]
        yield (
            f"`{start}` against `{STARTS[0]}`: E_RMS {number(s['error'])}x on the geometric mean, known rigs"
            f" left out, lower on {s['better']} of {len(r['rows'])} rows, seconds {number(s['seconds'])}x."
        )


def iteration_page(r):
    yield "## One iteration"
    yield (
        f"{label(r)}: {1000 * r['seconds']:.1f} ms, the matrix product (V x 3F)(3F x 4B) in double precision"
        f" {1000 * r['product']:.1f} ms."
    )


def scaling_page(r):
    yield "## One iteration on ever larger meshes (a made-up eel, 20 bones)"
    rows = (
        [f"{row['vertices']:,}", str(row["frames"]), number(row["seconds"], 4), number(1e9 * row["each"], 2)]
        for row in r["rows"]
    )
    yield from table(("vertices", "frames", "s", "ns by vertex and frame"), rows)


def threads_page(r):
    yield "## Threads"
    same = "The two answers are the same, bit by bit." if r["same"] else "The two answers differ."
    yield f"{label(r)}: {r['one']['wall']:.2f} s with one thread, {r['two']['wall']:.2f} s with two. {same}"


def memory_page(r):
    yield "## Memory"
    frames = r["frames_bytes"] / 1e9
    yield (
        f"{r['vertices']:,} vertices x {r['frames']} frames, {r['bones']} bones, quality draft:"
        f" peak {r['peak'] / 1e9:.2f} GB for the whole process, of which {frames:.2f} GB are the frames;"
        f" E_RMS {r['erms']:.3f} in {r['wall']:.0f} s on all cores."
    )


def noise_page(r):
    what = f"{label(r)}, {r['frames']} frames, noise of {r['percent']} % of the size"
    yield f"## Smoothness on a noisy scan ({what})"
    head = (
        "smoothness",
        "E_RMS against the noisy frames",
        "against the clean ones",
        "roughness of the weights",
        "stray",
    )
    rows = (
        [
            f"{row['smoothness']:g}",
            number(row["erms"]),
            number(row["clean"]),
            number(row["rough"], 4),
            percent(row["stray"]),
        ]
        for row in r["rows"]
    )
    yield from table(head, rows)
    yield ""
    yield "Roughness: root mean square difference of a weight between neighbours."


def blender_page(r):
    yield "## In Blender"
    stages = ", ".join(f"{stage} {r[stage]:.2f} s" for stage in ("capture", "solve", "build", "measure"))
    yield (
        f"{label(r)}, {r['vertices']:,} vertices x {r['frames']} frames as a .pc2, default settings, all"
        f" cores, Blender {r['blender']}: {stages}. Capture and build take {r['ratio']:.2f} of the solve."
    )


def skeleton_page(r):
    yield "## Skeletons of creatures that are known"
    yield "Edges found of the true ones; joints off in percent of the diagonal, mean; E_RMS free, jointed."
    head = ("creature, bones", "true weights held", "joints off", "solved", "joints off", "root", "counted")
    rows = []
    for row in r["rows"]:
        held, solved = row["held"], row["solved"]
        rows.append(
            [
                label(row),
                f"{held['edges']} of {held['true_edges']}",
                number(held["joint_mean"], 3),
                f"{solved['edges']} of {solved['true_edges']}",
                number(solved["joint_mean"], 3),
                "yes" if solved["root"] else "no",
                str(row["counted"]),
                number(solved["erms"], 3),
                number(row["articulated"]["erms"], 3),
            ]
        )
    yield from table((*head, "free", "articulated"), rows)
    yield from rule_page([row for row in r["rows"] if "edges_by" in row["held"]])


def rule_page(counted):
    """A rule is what joins bones: settings.connect."""
    rows = []
    for row in counted:
        parts = [row["held"], row["solved"]]
        found_by = [str(part["edges_by"][rule]) for part in parts for rule in RULES]
        rows.append([label(row), str(row["held"]["true_edges"]), *found_by])
    if rows:
        yield ""
        yield "Edges found by what joins bones: both the surface they share and a joint that holds, overlap"
        yield "of weights alone (Schaefer & Yuksel), stable joints alone (Hasler et al.)."
        yield ""
        heads = [f"{what}: {rule}" for what in ("held", "solved") for rule in RULES]
        yield from table(("creature, bones", "true edges", *heads), rows)


def roundtrip_page(r):
    yield "## Refits of edited rigs"
    yield "Errors as ratios: of `unchanged`, `repainted` and `added` to the error before, of `deleted` to a"
    yield "solve with one bone less; in brackets with bones that may leave their places (`relocate`). Times"
    yield "sooner than a full solve."
    head = ("sequence, bones", "unchanged", "repainted", "sooner", "cheapest deleted")
    head += ("middle deleted", "added", "solved with one more", "frame tracked, ms", "sooner")
    rows = []
    for row in r["rows"]:
        pairs = [row["deleted"]["cheapest"], row["deleted"]["middle"], row["added"]]
        rows.append(
            [
                label(row),
                number(row["unchanged"]["error"], 4),
                number(row["repainted"]["error"], 4),
                number(row["repainted"]["sooner"], 1),
                *(f"{number(p['stays']['error'], 3)} ({number(p['relocates']['error'], 3)})" for p in pairs),
                number(row["added"]["solved"], 3),
                number(row["tracked"]["milliseconds"], 2),
                number(row["tracked"]["sooner"], 0),
            ]
        )
    yield from table(head, rows)


def deleted_page(r):
    yield f"## Deleted bones, in Blender {r['blender']}"
    yield "A bone of a rig is deleted, the one whose loss costs least or the middle one, and the rig is"
    yield "refitted, all at the default settings and on all cores. Errors in percent of the size, as Blender"
    yield "measures them; ratios to a conversion with one bone less and the same kind of skeleton; in"
    yield "brackets to the one by default where that has another kind. Left: bones that left. Time: the"
    yield "refit's by the conversion's."
    head = ("sequence, bones", "skeleton", "rig", "one less")
    for which in ("cheapest", "middle"):
        head += (f"{which} deleted", "ratio", "left", "time")
    rows = []
    for row in r["rows"]:
        alike, cells = row.get("alike", row["less"]), []
        for one in (row["cheapest"], row["middle"]):
            other = f" ({number(one['to_default'], 3)})" if "alike" in row else ""
            cells += [number(one["error"], 4), number(one["ratio"], 3) + other, str(one["left"])]
            cells += [number(one["time"], 1)]
        errors = number(row["full"]["error"], 4), number(alike["error"], 4)
        rows.append([label(row), row["full"]["skeleton"].lower(), *errors, *cells])
    yield from table(head, rows)


PAGES = {
    "table2": lambda r: table_2_page("Against SSDR's Table 2 (best, rest free, plain least squares)", r),
    "defaults": lambda r: table_2_page("Against SSDR's Table 2 (best, rest kept, local weights)", r),
    "untouched": lambda r: table_2_page("Against SSDR's Table 2 (best, fairness, rest untouched)", r),
    "smooth": lambda r: table_2_page("Against SSDR's Table 2 (best, fairness, smooth rest)", r),
    "surface": surface_page,
    "locality": locality_page,
    "known": known_page,
    "correctives": correctives_page,
    "layers": layers_page,
    "speed": speed_page,
    "normal": normal_page,
    "starts": starts_page,
    "iteration": iteration_page,
    "scaling": scaling_page,
    "threads": threads_page,
    "memory": memory_page,
    "noise": noise_page,
    "skeleton": skeleton_page,
    "roundtrip": roundtrip_page,
    "deleted": deleted_page,
    "blender": blender_page,
}


def page(kept, about):
    yield "# Benchmarks"
    yield ""
    yield "Written by `make bench`; ratios first, because they hold on other machines too."
    yield f"Ossify {about['version']} on {about['machine']}."
    yield "One thread, and seconds of the processor, unless said otherwise. E_RMS is 1000 times the root mean"
    yield "square error by coordinate, the rest pose scaled to its tight unit sphere."
    if not all(section.get("shared") for section in kept.values()):
        yield "Without the real sequences: a made-up eel stands in for them where it can."
    yield ""
    yield from summary(kept)
    for name, write_section in PAGES.items():
        if name in kept:
            yield ""
            yield from write_section(kept[name])
            if kept[name]["library"] != about["library"]:
                yield ""
                yield f"(Measured on {kept[name]['day']} with an earlier build.)"


def write(path, kept, about):
    """Writes the page; what stands below the HAND line stays."""
    tail = ""
    if path.is_file() and HAND in (before := path.read_text(encoding="utf-8")):
        tail = "\n" + before[before.index(HAND) :]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(page(kept, about)) + "\n" + tail, encoding="utf-8")
