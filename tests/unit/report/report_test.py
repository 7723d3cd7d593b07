#!/usr/bin/python3
# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/report."""
import importlib.machinery
import importlib.util
import json
import math
import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "report"


def load_script():
    loader = importlib.machinery.SourceFileLoader("report", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("report", loader))
    loader.exec_module(module)
    return module


report = load_script()

TRAIN = {
    "workload": "train", "cards": 4, "planes": 8, "topology": "ubl128", "seed": 1, "exit_code": 0,
    "verified": True, "mismatches": 0, "errors": [], "cycles": 1000, "sim_time_ns": 1280.0,
    "plane_bytes": [100, 200, 0, 0, 0, 0, 0, 0], "host": {"mmio_reads": 3, "busy_ns": 12.5},
    "links": [{"name": "card0.up0", "frames": 1, "bytes": 2, "utilisation": 0.5}],
    "loss": [2.0, 1.0, 0.5], "epoch_loss": [2.0, 0.5], "epoch_accuracy": [0.5, 0.9], "accuracy": 0.9,
    "cycle_account": {"compute": 3000, "wait": 1000}, "run_hash": "0123456789abcdef",
}


def html(**changes):
    return report.render([("run", {**TRAIN, **changes})])


class Page(unittest.TestCase):
    def test_is_well_formed_and_loads_nothing(self):
        for page in (html(), html(links=[{"name": f"l{i}", "utilisation": i / 99} for i in range(99)]),
                     report.render([("a", TRAIN), ("b", {})])):
            body = page[page.index("<body>"):page.index("</html>")]
            xml.etree.ElementTree.fromstring(body)  # every tag closed, every & escaped
            self.assertNotRegex(page, r"(src|href)=|url\(|@import|<script|https?://")

    def test_same_results_same_page(self):
        self.assertEqual(html(), html())

    def test_shows_what_matters(self):
        page = html()
        for text in ("verified: every output byte is right", "Training loss", "Accuracy per epoch",
                     "Bytes per plane", "card0.up0", "50.0 %", "Cycle account", "75.0 %", "1.280 µs",
                     "90.0 %", "0123456789abcdef"):
            self.assertIn(text, page)

    def test_planes_that_are_not_in_use_are_not_drawn(self):
        page = html(planes=2)
        self.assertIn("plane 1", page)
        self.assertNotIn("plane 2", page)
        self.assertIn("plane 7", html())
        self.assertIn("plane 7", html(planes=None))

    def test_speed_is_in_cycles(self):
        self.assertIn("123.5 thousand cycles/s", html(cycles_per_s=123456.0))

    def test_text_is_escaped(self):
        page = html(workload="<img>", errors=["<script>x</script> & more"])
        self.assertNotIn("<script>x", page)
        self.assertNotIn("<img>", page)
        self.assertIn("&lt;script&gt;x", page)

    def test_verdicts(self):
        for changes, text in (({"exit_code": 1}, "wrong data"), ({"exit_code": 3}, "device error"),
                              ({"exit_code": 4}, "no progress"),
                              ({"verified": False, "mismatches": 12}, "not verified, 12 mismatches")):
            page = html(**changes)
            self.assertIn(f'<span class="badge bad">{text}</span>', page)
        self.assertIn("not verified", report.render([("x", {})]))

    def test_account_that_does_not_sum_is_said(self):
        self.assertNotIn("not to cycles x cards", html())
        self.assertIn("not to cycles x cards = 4,000", html(cycle_account={"compute": 3999}))

    def test_odd_values_do_not_stop_it(self):
        odd = json.loads('{"loss": [1.0, NaN, Infinity, null, "x", 0.5], "cycles": null, "cards": "?",'
                         ' "links": [1, {}, {"name": 5, "utilisation": NaN}], "plane_bytes": {},'
                         ' "host": 3, "latency_ns": [], "cycle_account": {"a": 0}, "bytes": true}')
        page = report.render([("odd", odd)])
        self.assertIn("4 values are not finite and left out", page)
        report.render([("flat", {"loss": [1.0]}), ("same", {"loss": [2.0, 2.0]}),
                       ("negative", {"loss": [-1e9, 1e9]}), ("zero", {"loss": [0.0, 0.0]})])


class Geometry(unittest.TestCase):
    def test_ticks_cover_and_are_round(self):
        for low, high in ((0, 1), (0.19, 2.4), (-3, 7), (5, 5), (0, 0), (1e-9, 3e-9), (0, 1e12), (-2, -1)):
            t = report.ticks(low, high)
            self.assertLessEqual(t[0], low + 1e-12)
            self.assertGreaterEqual(t[-1], high - 1e-12)
            self.assertTrue(2 <= len(t) <= 9, (low, high, t))

    def test_curve_stays_inside(self):
        for ys in ([2, 1, 0.5], [1e-6, 1, 1e6], [5], [0, 0], [-1, 1], list(range(500))):
            p = report.line_plot("t", ys, "x", "y")
            xy = [float(v) for v in re.findall(r"-?[\d.]+", p["path"])]
            for x, y in zip(xy[::2], xy[1::2]):
                self.assertTrue(p["left"] - 0.01 <= x <= p["right"] + 0.01, (ys, x))
                self.assertTrue(p["top"] - 0.01 <= y <= p["bottom"] + 0.01, (ys, y))
            self.assertEqual(len(xy) // 2, len(ys))

    def test_wide_range_is_logarithmic(self):
        self.assertIn("(log)", report.line_plot("t", [100.0, 0.01], "x", "y")["ylabel"])
        self.assertNotIn("(log)", report.line_plot("t", [2.0, 0.1], "x", "y")["ylabel"])

    def test_larger_is_higher(self):
        p = report.line_plot("t", [1.0, 2.0], "x", "y")
        ys = [float(v) for v in re.findall(r"-?[\d.]+", p["path"])][1::2]
        self.assertGreater(ys[0], ys[1])

    def test_account_fills_the_bar(self):
        rows = report.account({"cycle_account": {"a": 1, "b": 2, "c": 4}})["rows"]
        self.assertEqual([r["x"] for r in rows][0], 0)
        self.assertAlmostEqual(rows[-1]["x"] + rows[-1]["width"], 100, places=2)

    def test_numbers_for_people(self):
        for x, text in ((0, "0"), (1234567, "1,234,567"), (0.00001, "1.000e-05"), (12.3456, "12.35"),
                        (0.1234, "0.1234"), (math.nan, "–"), (None, "–"), (True, "–"), (-2.5, "-2.500")):
            self.assertEqual(report.short(x), text)
        self.assertEqual(report.duration(1039801.6), "1.040 ms")
        self.assertEqual(report.size(131072 * 128), "16 MiB")


class Program(unittest.TestCase):
    def run_it(self, *args):
        return subprocess.run([SCRIPT, *map(str, args)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def test_files(self):
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            (folder / "run.json").write_text(json.dumps(TRAIN))
            self.assertEqual(self.run_it(folder / "run.json").returncode, 0)
            self.assertIn("Training loss", (folder / "run.html").read_text())
            r = self.run_it(folder / "run.json", folder / "run.json", "-o", folder / "two.html")
            self.assertEqual(r.returncode, 0)
            self.assertEqual((folder / "two.html").read_text().count("<h1>train</h1>"), 2)

    def test_what_is_wrong_is_said(self):
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            (folder / "half.json").write_text('{"cards": ')
            (folder / "list.json").write_text("[]")
            (folder / "good.json").write_text("{}")
            for args, text in (((folder / "half.json",), "not JSON"), ((folder / "list.json",), "no object"),
                               ((folder / "none.json",), "No such file"),
                               ((folder / "good.json", "-o", folder / "no" / "x.html"), "No such file")):
                r = self.run_it(*args)
                self.assertEqual(r.returncode, 2, r.stderr)
                self.assertIn(text, r.stderr)
                self.assertNotIn("Traceback", r.stderr)


if __name__ == "__main__":
    unittest.main()
