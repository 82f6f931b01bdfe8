"""Jobs for schedulers: what their files say, and the page of what came of them."""

import json
import re
import shlex
import shutil
import subprocess
from html.parser import HTMLParser

import package  # noqa: F401 (first: it brings what follows)
import pytest
from ossify.base.refusal import Refusal
from ossify.farm import gather, job, ranges, schedulers


def shots(folder, count=3):
    inputs = [folder / f"shot {number}.abc" for number in range(count)]
    made = job.of_shots(folder / "out", inputs, ".glb", ["--bones", "4"])
    job.write(made)
    return made


def report(made, number, **values):
    record = {"input": "x", "ok": True, "error": None, "bones": 4, "rms_percent": 0.5, "size": 2.0, **values}
    made.report_of(made.tasks[number]).write_text(json.dumps({"inputs": [record]}))


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows, self.open, self.sources, self.small = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.open += [] if tag in {"meta", "br", "img"} else [tag]
        self.rows += [[]] if tag == "tr" else []
        self.sources += [value for name, value in attributes if name in {"src", "href"}]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.rows[-1].append(data)
        self.small += [data] if self.open and self.open[-1] == "small" else []


def read_page(made):
    page = Cells()
    page.feed((made.folder / gather.PAGE).read_text())
    assert page.open == []
    return page


def test_a_job_is_read_as_it_was_written(tmp_path):
    made = shots(tmp_path)
    assert job.read(made.file) == made
    assert [task.name for task in made.tasks] == ["shot_0", "shot_1", "shot_2"]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["x/a.abc", "y/a.pc2"], ["x-a", "y-a"]),
        (["s1/anim/a.abc", "s2/anim/a.abc", "b.abc"], ["s1-a", "s2-a", "b"]),
        (["s1/p/a.abc", "s1/q/a.abc", "s2/p/a.abc"], ["s1-p-a", "q-a", "s2-p-a"]),
        (["a.abc", "a.pc2", "a-2.abc"], ["a", "a-3", "a-2"]),
        (["A.abc", "x/a.abc"], None),  # one file where capital letters do not count
        (["x/a.abc", "a.abc", "a b.abc", "a_b.abc"], None),
        (["ü/" + 120 * "n" + ".abc", "o/" + 120 * "n" + "m.abc"], None),
        ([120 * "n" + ".abc", 120 * "n" + "m.abc"], None),  # the second gets a number behind as many letters
        (["new\nline.abc", "'\"`$.abc", "....abc"], None),
    ],
)
def test_shots_of_one_name_are_told_apart(tmp_path, paths, names):
    made = job.of_shots(tmp_path, [tmp_path / path for path in paths], ".glb", [])
    found = [task.name for task in made.tasks]
    assert len({name.casefold() for name in found}) == len(paths)
    assert all(re.fullmatch(r"[\w.-]{1,110}", name) for name in found)
    assert names in (None, found)
    job.write(made)
    assert job.read(made.file) == made


def test_one_shot_twice_is_refused(tmp_path):
    with pytest.raises(Refusal, match=r"a\.abc is given twice"):
        job.of_shots(tmp_path, [tmp_path / "a.abc", tmp_path / "a.abc"], ".glb", [])


def test_settings_that_look_alike_have_files_of_their_own(tmp_path):
    made = job.of_sweep(tmp_path, tmp_path / "a.abc", ".glb", [], "bones", ["5", "+5", "a b", "a_b"])
    assert len({task.output for task in made.tasks}) == 4


def test_a_sweep_of_a_shot_with_a_long_name_is_read_again(tmp_path):
    made = job.of_sweep(tmp_path, tmp_path / (120 * "n" + ".abc"), ".glb", [], "bones", ["5", "6"])
    job.write(made)
    assert job.read(made.file) == made


def test_schedulers_are_told_of_strange_folders(tmp_path):
    """A percent sign is a number of the job to Slurm, two braces are a value to Open Job Description."""
    made = job.of_shots(tmp_path / "50%A it's", [tmp_path / "a{{b.abc"], ".glb", [])
    schedulers.check(made)
    (line,) = re.findall(r"(?m)^#SBATCH --output=(.*)$", schedulers.slurm(made, ["ossify"]))
    assert shlex.split(line) == [f"{tmp_path}/50%%A it's/ossify-%A_%a.log"]
    swept = job.of_sweep(tmp_path, tmp_path / "a{{b\n.abc", ".glb", [], "bones", ["1"])
    assert json.loads(schedulers.openjd(swept, ["ossify"]))["name"] == "Ossify: a b .abc, 1 setting"
    for name in ("new\nline", "{{Task}}"):
        with pytest.raises(Refusal, match="choose another folder"):
            schedulers.check(job.of_shots(tmp_path / name, [tmp_path / "a.abc"], ".glb", []))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"title": 1, "tasks": [{}]}', '{"title": "", "tasks": [3]}', '{"tasks": null}']
)
def test_what_is_no_job_is_refused(tmp_path, text):
    (tmp_path / "job.json").write_text(text)
    with pytest.raises(Refusal, match="no job of Ossify's"):
        job.read(tmp_path / "job.json")


def test_a_task_cannot_name_a_report_elsewhere(tmp_path):
    made = shots(tmp_path)
    made.file.write_text(made.file.read_text().replace('"shot_1"', '"../shot_1"'))
    with pytest.raises(Refusal, match="no job"):
        job.read(made.file)


def test_every_scheduler_calls_every_task_and_gathers_after_them(tmp_path):
    made, program = shots(tmp_path), ["blender", "--command", "ossify"]
    schedulers.write(made, program)
    template = json.loads((made.folder / schedulers.OPENJD).read_text())
    steps = {step["name"]: step for step in template["steps"]}
    action = steps["Shots"]["script"]["actions"]["onRun"]
    assert [action["command"], *action["args"]] == [*program, "task", str(made.file), "{{Task.Param.Number}}"]
    assert steps["Shots"]["parameterSpace"]["taskParameterDefinitions"][0]["range"] == "0-2"
    assert steps["Gather"]["dependencies"] == [{"dependsOn": "Shots"}]
    array = (made.folder / schedulers.SLURM).read_text()
    assert "#SBATCH --array=0-2\n" in array
    assert '"$SLURM_ARRAY_TASK_ID"' in array
    assert "afterany" in (made.folder / schedulers.SLURM_SUBMIT).read_text()


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js runs what Flamenco would")
def test_flamenco_gets_a_task_a_shot_and_one_that_waits_for_them(tmp_path):
    """Against a stand-in for the few calls of its documented API."""
    made = shots(tmp_path)
    schedulers.write(made, ["blender", "--command", "ossify"])
    stand_in = """
const tasks = [];
class Task {
    constructor(name, type) { Object.assign(this, { name, type, commands: [], after: [] }); }
    addCommand(command) { this.commands.push(command); }
    addDependency(task) { this.after.push(task.name); }
}
const author = { Task: (n, t) => new Task(n, t), Command: (name, parameters) => ({ name, parameters }) };
%s
const settings = Object.fromEntries(JOB_TYPE.settings.map((s) => [s.key, s.default]));
compileJob({ settings, addTask: (task) => tasks.push(task) });
console.log(JSON.stringify(tasks));
"""
    script = tmp_path / "run.js"
    script.write_text(stand_in % (made.folder / schedulers.FLAMENCO).read_text())
    tasks = json.loads(subprocess.run(["node", script], capture_output=True, text=True, check=True).stdout)
    assert [task["name"] for task in tasks] == ["shot-0", "shot-1", "shot-2", "gather"]
    assert tasks[3]["after"] == ["shot-0", "shot-1", "shot-2"]
    last = tasks[1]["commands"][0]["parameters"]
    assert [last["exe"], *last["args"]] == ["blender", "--command", "ossify", "task", str(made.file), "1"]


def test_the_page_tells_of_all_tasks(tmp_path):
    made = shots(tmp_path)
    report(
        made,
        0,
        clips=[{"frame_error": {"1": 0.01, "2": 0.03, "3": 0.02}}],
        bytes=12000,
        seconds={"Solving": 1.5},
        skeleton={"helpers": 1},
        notes=["Half of the joints are <guessed>."],
        normal_degrees=2.0,
    )
    report(made, 1, ok=False, error="It has <no> motion.")
    records = gather.gather(made)
    assert [record["ok"] for record in records] == [True, False, False]
    assert "error of each frame, at most" in (made.folder / gather.PAGE).read_text(encoding="utf-8")
    page = read_page(made)
    assert {"3", "0.5 %", "12 kB", "1.5 s", "2°"} <= set(page.rows[1])
    assert {"and 1 hidden", "Half of the joints are <guessed>."} <= set(page.small)
    assert "frames, up to 1.5 %" in (made.folder / gather.PAGE).read_text(encoding="utf-8")
    assert page.rows[2][-1] == "It has <no> motion."
    assert page.rows[3][-1].startswith("It left no report")
    assert all(source.startswith("data:") for source in page.sources)
    assert len(json.loads((made.folder / gather.FIGURES).read_text())["tasks"]) == 3


@pytest.mark.parametrize("text", ["", "[]", '{"inputs": []}', '{"inputs": [3]}', '{"inputs": [{"ok": 1}]}'])
def test_a_damaged_report_is_told(tmp_path, text):
    made = shots(tmp_path, 1)
    made.report_of(made.tasks[0]).write_text(text)
    assert "damaged" in gather.gather(made)[0]["error"]


def test_reports_with_strange_numbers_make_a_page(tmp_path):
    made = shots(tmp_path, 1)
    report(
        made,
        0,
        rms_percent=float("nan"),
        bytes="x",
        size=0,
        clips=[3, {"frame_error": "no"}],
        seconds=3,
        skeleton={"helpers": "x"},
        notes=[3],
        worst={"frame": None},
    )
    gather.gather(made)
    read_page(made)


def test_frames_of_all_shots_are_drawn_to_one_scale(tmp_path):
    made = shots(tmp_path, 2)
    for number, most in enumerate((0.04, 0.01)):
        report(made, number, clips=[{"frame_error": {"1": 0.0, "2": most}}])
    gather.gather(made)
    text = (made.folder / gather.PAGE).read_text(encoding="utf-8")
    assert re.findall(r'points="0.0,60.0 260.0,([\d.]+)"', text) == ["0.0", "45.0"]


def test_a_sweep_is_a_curve(tmp_path):
    made = job.of_sweep(tmp_path, tmp_path / "a.abc", ".glb", [], "bones", ranges.values("4:12:4"))
    job.write(made)
    assert [task.flags for task in made.tasks] == [["--bones", "4"], ["--bones", "8"], ["--bones", "12"]]
    for number, error in enumerate((1.0, 0.5, 0.25)):
        report(made, number, rms_percent=error)
    gather.gather(made)
    text = (tmp_path / gather.PAGE).read_text()
    heights = [float(y) for y in re.findall(r'class="dot" cx="[\d.]+" cy="([\d.]+)"', text)]
    assert heights == [0, 120, 180]  # of 240: the largest at the top


def test_ranges():
    assert ranges.values("8:64:4")[:3] == ["8", "12", "16"]
    assert ranges.values("8:64:4")[-1] == "64"
    assert ranges.values("0.1:0.3:0.1") == ["0.1", "0.2", "0.3"]
    assert ranges.values("draft,best") == ["draft", "best"]


@pytest.mark.parametrize("text", ["", "8,,9", "8:4:1", "1:2:0", "1:2:3:4", "a:b", "0:1e9:1", "nan:1:1"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(Refusal):
        ranges.values(text)
