#!/usr/bin/python3
# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/mutate on a project of one C file."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
MUTATE = Path(__file__).resolve().parents[3] / "scripts" / "mutate"

FILES = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.25)
project(Tiny LANGUAGES C)
enable_testing()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_SOURCE_DIR}/build/bin")
add_executable(tiny tiny.c)
add_test(NAME tiny COMMAND tiny)
add_test(NAME never COMMAND false)
""",
    "CMakePresets.json": """\
{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja",
 "binaryDir": "${sourceDir}/build/${presetName}", "cacheVariables": {"CMAKE_BUILD_TYPE": ""}}]}
""",
    # One argument: waits, as a slow test does.
    "tiny.c": """\
#include <stdio.h>
#include <unistd.h>
static int add(int a, int b) { return a + b; }
static int unused(int a) { return a * 3; }
int main(int argc, char** argv) {
  (void)argv;
  if (argc > 2) sleep(30);
  if (unused(1) == 0) return 0;
  return add(2, 3) == 5 ? 0 : 1;
}
""",
}


def mutant(name="wrong_sum", find="a + b", replace="a - b", killed_by="tiny", **more):
    entry = {"name": name, "file": "tiny.c", "find": find, "replace": replace,
             "killed_by": killed_by, "why": "a sum must be a sum", **more}
    return "- " + "\n  ".join(f"{k}: {v!r}" if v != "" else f"{k}: ''" for k, v in entry.items())


class Mutate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ubl-mutate-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in FILES.items():
            (self.root / name).write_text(text)
        (self.root / "tests" / "mutants").mkdir(parents=True)

    def describe(self, *mutants, block="tiny"):
        text = "# SPDX-License-Identifier: Apache-2.0\n" + "\n".join(mutants) + "\n"
        (self.root / "tests" / "mutants" / f"{block}.yaml").write_text(text)

    def snapshot(self):
        return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in self.root.rglob("*")
                if p.is_file() and "build" not in p.parts}

    def mutate(self, *arguments):
        """Runs it; the project must stay as it is."""
        before = self.snapshot()
        r = subprocess.run([MUTATE, "--root", self.root, *arguments], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(self.snapshot(), before)
        return r.returncode, r.stdout

    def expect(self, status, *words, arguments=()):
        got, out = self.mutate(*arguments)
        self.assertEqual(got, status, out)
        for w in words:
            self.assertRegex(out, w)
        return out

    def test_killed(self):
        self.describe(mutant(), mutant("by_command", killed_by="tiny argument"),
                      mutant("crash", replace="a / (b - 3)"),
                      mutant("assertion", find="return a * 3;",
                             replace="puts(\"t: assertion Positive failed\"); fflush(stdout); _exit(6);"),
                      mutant("no_end", find="unused(1) == 0", replace="sleep(30)"))
        out = self.expect(
            0, r"tiny/wrong_sum +killed by tiny \(status 1\), [0-9.]+ s",
            r"tiny/by_command +killed by tiny argument \(status 1\)",
            r"tiny/crash +killed by tiny \(SIGFPE\)",
            r"tiny/assertion +killed by tiny \(assertion Positive failed\)",
            r"tiny/no_end +killed by tiny \(no end\)",
            r"PASS: 5 of 5 mutants killed", arguments=["--grace", "1"])
        self.assertNotIn("SURVIVED", out)
        # Again, with git, and with one of two blocks.
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.describe(mutant("other", find="a * 3", replace="a"), block="other")
        self.expect(0, "PASS: 5 of 5", arguments=["tiny", "--grace", "1"])
        self.expect(0, "PASS: 1 of 1", arguments=["tiny/crash"])
        self.expect(1, "other/other +SURVIVED", "FAIL: 5 of 6", arguments=["--grace", "1"])

    def test_not_killed(self):
        self.describe(mutant("survivor", find="a * 3", replace="a * 4"), mutant(),
                      mutant("nowhere", find="a % b"), mutant("twice", find="int a"),
                      mutant("no_file", file="none.c"), mutant("no_c", find="a + b", replace="a +"))
        self.expect(1, r"tiny/survivor +SURVIVED tiny, [0-9.]+ s\n +\| a sum must be a sum",
                    r"tiny/wrong_sum +killed by",
                    r"tiny/nowhere +DOES NOT APPLY: its text occurs 0 times in tiny.c",
                    r"tiny/twice +DOES NOT APPLY: its text occurs 4 times in tiny.c",
                    r"tiny/no_file +DOES NOT APPLY: no file none.c",
                    r"tiny/no_c +DOES NOT BUILD", r"error: expected",
                    r"FAIL: 1 of 6 mutants killed, .*; not: tiny/survivor, tiny/nowhere, ")

    def test_interrupted(self):
        self.describe(mutant("slow", "argc > 2", "argc > 1", "tiny argument"), mutant())
        before = self.snapshot()
        p = subprocess.Popen([MUTATE, "--root", self.root, "--grace", "60"], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        copied = self.root / "build" / "mutate" / "tree" / "tiny.c"
        deadline = time.monotonic() + 60
        while not (copied.exists() and "argc > 1" in copied.read_text()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        time.sleep(1)
        self.expect(2, "in use by another run")
        p.send_signal(signal.SIGTERM)
        out, _ = p.communicate(timeout=30)
        self.assertEqual(p.returncode, 130, out)
        self.assertEqual(self.snapshot(), before)
        self.assertEqual(copied.read_text(), FILES["tiny.c"])
        # A run that was killed outright leaves its mutant in the copy; the next one repairs that.
        copied.write_text("int main(void) { return 7; }\n")
        self.expect(0, "PASS: 1 of 1", arguments=["tiny/wrong_sum"])

    def test_bad_descriptions(self):
        cases = [("[]", "must be a list"), ("- 3", "must be a mapping"), ("a: [", "mutants/tiny"),
                 (mutant(colour="red"), "unknown: colour"), ("- {name: x}", "missing: file, find"),
                 (mutant(replace="a + b"), "changes nothing"),
                 (mutant(find=""), "find must be text"),
                 (mutant() + "\n" + mutant(), "the name is taken")]
        for text, words in cases:
            self.describe(text)
            self.expect(2, words)
        self.describe(mutant())
        self.expect(2, "nothing: no such mutant; blocks: tiny", arguments=["nothing"])

    def test_tests_that_say_nothing(self):
        for killed_by, words in [("none", "no such test"), ("none at all", "no such program")]:
            self.describe(mutant(killed_by=killed_by))
            self.expect(2, words)
        self.describe(mutant(killed_by="never"), mutant("other"))
        self.expect(1, r"without mutants: never FAILS \(status 1\)",
                    r"tiny/wrong_sum +NOT TRIED: never fails without a mutant",
                    r"tiny/other +killed by tiny", "FAIL: 1 of 2 mutants killed")

    def test_list(self):
        self.describe(mutant())
        self.expect(0, "tiny/wrong_sum\n +tiny.c\n +killed by: tiny\n +a sum", arguments=["--list"])
        self.assertFalse((self.root / "build").exists())


if __name__ == "__main__":
    # Messages are compared.
    os.environ.update(LC_ALL="C", UBL_JOBS="1")
    unittest.main()
