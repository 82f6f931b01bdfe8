"""Runs the tests in C on all processors: python tools/test_c.py [-v] RUNNER... [-- WORD...]

RUNNER is the program of tests/native with what it is started by. As many of them as there are processors are
fed the names of tests, those whose name or file holds one of the words, one after the other; $JOBS says
another number of them.
"""

import argparse
import os
import queue
import subprocess
import sys
import threading
import time


def work(command, names, told):
    """Runs tests until there are none left; a runner that dies fails the test it was at."""
    runner = None
    while True:
        try:
            name = names.get_nowait()
        except queue.Empty:
            break
        if runner is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            runner = subprocess.Popen([*command, "-i"], **pipes)
        print(name, file=runner.stdin, flush=True)
        said = []
        for line in runner.stdout:
            if line.startswith("= "):
                _, result, seconds = line.split()
                told.put((name, result, float(seconds), said))
                break
            said.append(line)
        else:
            told.put((name, "failed", 0.0, [*said, f"{name}: the runner ended with {runner.wait()}\n"]))
            runner = None
    if runner is not None:
        runner.stdin.close()
        if runner.wait() != 0:  # as sanitizers do that find leaks at the end
            told.put(
                ("the end of a runner", "failed", 0.0, [*runner.stdout, f"ended with {runner.wait()}\n"])
            )


def main():
    own = sys.argv[1:]
    words = own[own.index("--") + 1 :] if "--" in own else []
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-v", action="store_true", help="name every test, with its seconds")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args(own[: len(own) - len(words)])
    began = time.monotonic()
    listed = subprocess.run([*asked.command, "-l", *words], stdout=subprocess.PIPE, text=True, check=True)
    names, told = queue.Queue(), queue.Queue()
    for name in listed.stdout.split():
        names.put(name)
    count = {"passed": 0, "failed": 0, "skipped": 0}
    many = int(os.environ.get("JOBS") or os.cpu_count() or 1)
    workers = [threading.Thread(target=work, args=(asked.command, names, told)) for _ in range(many)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers) or not told.empty():
        try:
            name, result, seconds, said = told.get(timeout=0.1)
        except queue.Empty:
            continue
        count[result] += 1
        print("".join(said), end=f"{seconds:8.3f} s  {name}\n" if asked.v else "", flush=True)
    print(", ".join(f"{n} {result}" for result, n in count.items()), f"in {time.monotonic() - began:.2f} s")
    sys.exit(count["failed"] > 0 or sum(count.values()) == 0)


if __name__ == "__main__":
    main()
