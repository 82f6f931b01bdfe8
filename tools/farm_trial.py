"""Three shots and a sweep on real schedulers: python tools/farm_trial.py

By openjd, the reference runner of Open Job Description, always; by a Slurm of one node where its packages can
be had and it starts (Debian, as root), with one shot that fails and one that is killed and queued again.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from blenders import bpy_python, fitting
from cache import ROOT, environment
from debian import install_packages

MAKE_SHOTS = """
import sys
from pathlib import Path
import numpy as np

along, around = np.divmod(np.arange(24 * 8), 8)
pairs = [(8 * a + b, 8 * a + (b + 1) % 8) for a in range(23) for b in range(8)]
quads = [(one, other, other + 8, one + 8) for one, other in pairs]
for name, bend in (("arm", 1.0), ("leg", 0.6)):
    folder = Path(sys.argv[1]) / name
    folder.mkdir(parents=True)
    for frame in range(8):
        turn = bend * np.sin(frame / 8 * 6.28) * np.clip((along - 12) / 4, 0, 1)
        beyond, high = np.maximum(along - 12, 0), np.sin(around * np.pi / 4)
        x = np.minimum(along, 12) + beyond * np.cos(turn) - high * np.sin(turn)
        z = beyond * np.sin(turn) + high * np.cos(turn)
        lines = [f"v {a:.6f} {b:.6f} {c:.6f}" for a, b, c in zip(x, np.cos(around * np.pi / 4), z)]
        lines += ["f " + " ".join(str(corner + 1) for corner in quad) for quad in quads]
        (folder / f"{frame:03d}.obj").write_text("\\n".join(lines) + "\\n")
broken = Path(sys.argv[1]) / "broken"
broken.mkdir()
for frame in range(2):
    (broken / f"{frame:03d}.obj").write_text("v 0 0\\n")
"""
SLURM = ("slurmctld", "slurmd", "sbatch", "munged")
CONFIGURATION = """ClusterName=trial
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort=26817
SlurmdPort=26818
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=1,bf_interval=1
ReturnToService=2
JobRequeue=1
NodeName={host} CPUs={cores} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def run(*command, **options):
    return subprocess.run([*map(str, command)], text=True, capture_output=True, timeout=600, **options)


def seen(done, what, code=0):
    if done.returncode != code:
        sys.exit(
            f"{what}: exit code {done.returncode}, not {code}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return done.stdout


def tasks_in(folder):
    return {task["task"]: task for task in json.loads((folder / "report.json").read_text())["tasks"]}


def browser():
    """A Chromium without a window, or None."""
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    return found or (install_packages(names[0]) and shutil.which(names[0])) or None


def look_at_page(chromium, page, words, plots, pictures):
    """As the browser has it: every task is in the table, plots are drawn, pictures have a size."""
    asked = (
        "<script>onload = () => document.body.dataset.wide = [...document.images].map(i => i.naturalWidth)"
    )
    copy = page.with_name("looked-at.html")
    text = page.read_text(encoding="utf-8")
    assert "http" not in text.replace("http://www.w3.org", ""), "the page needs something from elsewhere"
    copy.write_text(text.replace("</body>", f"{asked}</script></body>"), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
    shown = seen(run(chromium, *flags, copy.as_uri()), "the page in Chromium")
    copy.unlink()
    assert all(word in shown for word in words), shown[:2000]
    wide = re.search(r'data-wide="([\d,]*)"', shown)[1].split(",")
    assert len(wide) == pictures, wide
    assert all(int(pixels) > 0 for pixels in wide), wide
    assert shown.count("<polyline") == plots, shown.count("<polyline")
    print(f"Chromium: {page.parent.name}/{page.name}, {pictures} pictures and {plots} plots drawn")


def by_openjd(program, shots, folder, chromium):
    openjd = [environment("farm").parent / "openjd"]
    flags = ["--", "--bones", "3", "--quality", "draft"]
    out = folder / "farm"
    inputs = [shots / name for name in ("arm", "leg", "broken")]
    seen(run(*program, "farm", *inputs, "--output", out, "--program", " ".join(program), *flags), "farm")
    seen(run(*openjd, "check", out / "openjd.json"), "openjd check")
    seen(run(*openjd, "run", out / "openjd.json"), "openjd run, with a shot that fails", 1)
    found = tasks_in(out)
    assert [found[name]["ok"] for name in ("arm", "leg", "broken")] == [True, True, False], found
    assert "damaged" in found["broken"]["error"]
    assert (out / "arm.glb").exists()
    assert (out / "pictures" / "arm.png").exists()
    print("openjd: 3 shots, 1 of them damaged: 2 rigs, 1 sentence, 1 page")
    if chromium:
        look_at_page(chromium, out / "report.html", ["arm", "leg", "broken", "damaged"], 2, 2)
    out = folder / "sweep"
    words = ["sweep", shots / "arm", "bones", "2:4:1", "--output", out, "--program", " ".join(program)]
    seen(run(*program, *words, "--", "--quality", "draft"), "sweep")
    seen(run(*openjd, "run", out / "openjd.json"), "openjd run of a sweep")
    errors = [task["rms_percent"] for task in tasks_in(out).values()]
    assert len(errors) == 3
    assert errors[0] > errors[2]
    if chromium:
        look_at_page(chromium, out / "report.html", ["Error in percent of the size"], 4, 3)
    print(f"openjd: a sweep of 3 counts, errors {', '.join(f'{error:.3g} %' for error in errors)}")


def have_slurm():
    if all(map(shutil.which, SLURM)):
        return True
    if not hasattr(os, "getuid") or os.getuid() != 0 or not shutil.which("apt-get"):
        return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "-q", "install", "-y", "--no-install-recommends", "slurm-wlm", "munge"]
    if run(*install, env=quiet).returncode != 0:
        run("apt-get", "-q", "update", env=quiet)
        run(*install, env=quiet)
    return all(map(shutil.which, SLURM))


class Slurm:
    """A controller and a node on this machine, for as long as the trial lasts."""

    def __init__(self, folder):
        self.folder, self.running = folder, []
        for name in ("state", "spool"):
            (folder / name).mkdir(parents=True)
        host = os.uname().nodename.split(".")[0]
        text = CONFIGURATION.format(host=host, folder=folder, cores=os.cpu_count())
        (folder / "slurm.conf").write_text(text)
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self):
        key, socket = self.folder / "munge.key", self.folder / "munge.socket"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        with open(self.folder / "slurm.conf", "a") as file:
            file.write(f"AuthInfo=socket={socket}\n")
        munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket}"]
        munge += [
            f"--{name}={self.folder}/munge.{end}" for name, end in (("pid-file", "pid"), ("log-file", "log"))
        ]
        munge += [f"--seed-file={self.folder}/munge.seed"]
        for command in (munge, ["slurmctld", "-D"], ["slurmd", "-D"]):
            with open(self.folder / f"{command[0]}.said", "w") as said:
                started = subprocess.Popen(command, env=self.environment, stdout=said, stderr=said)
            self.running.append(started)
            time.sleep(2)
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.terminate()
            process.wait(30)

    def __call__(self, *command):
        return run(*command, env=self.environment)

    def starts(self, seconds=60):
        until = time.monotonic() + seconds
        while "idle" not in self("sinfo", "-h").stdout and time.monotonic() < until:
            time.sleep(1)
        return time.monotonic() < until

    def wait(self, what, seconds=300):
        until = time.monotonic() + seconds
        while not what():
            if time.monotonic() > until:
                logs = "\n".join(p.read_text()[-1500:] for p in self.folder.glob("*.log"))
                sys.exit(f"Slurm did not end in time\n{self('squeue', '-a').stdout}\n{logs}")
            time.sleep(1)


def running(slurm):
    """Tasks of the array that are at it, as ARRAY_NUMBER"""
    lines = slurm("squeue", "-h", "-r", "-n", "ossify", "-o", "%i %t").stdout.splitlines()
    return [line.split()[0] for line in lines if line.endswith(" R")]


def by_slurm(program, shots, folder):
    out = folder / "array"
    inputs = [shots / name for name in ("arm", "leg", "broken")]
    words = ["farm", *inputs, "--output", out, "--program", " ".join(program), "--", "--bones", "3"]
    seen(run(*program, *words), "farm")
    with Slurm(folder / "slurm") as slurm:
        if not slurm.starts():
            print("skipped Slurm: it does not start here")
            return
        seen(slurm("sh", out / "slurm-submit.sh"), "sbatch")
        first = []
        slurm.wait(lambda: first.extend(running(slurm)) or first)
        seen(slurm("scontrol", "requeue", first[0]), "requeue")
        slurm.wait(lambda: not slurm("squeue", "-h").stdout.strip())
    found = tasks_in(out)
    assert [found[name]["ok"] for name in ("arm", "leg", "broken")] == [True, True, False], found
    print("Slurm: an array of 3, 1 damaged, 1 killed and queued again: 2 rigs, 1 sentence, 1 page")


def main():
    python = bpy_python(fitting()[-1])
    program = [str(python), str(ROOT / "addon")]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        shots = folder / "shots"
        seen(run(python, "-c", MAKE_SHOTS, shots), "making shots")
        chromium = browser()
        if chromium is None:
            print("skipped the page in a browser: there is no Chromium, and it could not be installed")
        by_openjd(program, shots, folder, chromium)
        if have_slurm():
            by_slurm(program, shots, folder)
        else:
            print("skipped Slurm: its packages are not here, and could not be installed")


if __name__ == "__main__":
    main()
