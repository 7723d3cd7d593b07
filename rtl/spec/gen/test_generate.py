#!/usr/bin/python3
# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the contract generator: outputs that compile and round-trip, messages that name a line."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
GENERATE = Path(__file__).resolve().parent / "generate"
sys.path.insert(0, str(GENERATE.parent))

import spec  # noqa: E402

GOOD = """\
file: good
doc: a contract with one of everything
constants:
  - {name: lanes, value: 4, doc: "lanes"}
  - {name: width, value: "(lanes + 1) * 8 % 32 | 1 << 4", doc: "expression"}
  - {name: big, value: 0x1_0000_0000, width: 33, doc: "wide"}
  - {name: other, value: "other.base / 2", doc: "constant of another file"}
enums:
  - name: "on"
    width: 3
    doc: a name that YAML would read as a boolean
    values:
      - {name: "yes", value: 1, doc: "one"}
      - {name: no, value: 7, doc: "seven | pipe"}
layouts:
  - name: lit
    bytes: 16
    endian: little
    doc: little
    fields:
      - {name: a, offset: 0, lsb: 3, bits: 13, doc: "a"}
      - {name: b, offset: 2, bits: 3, enum: on, doc: "b"}
      - {name: c, offset: 5, bits: 64, doc: "c"}
  - name: net
    bytes: 6
    endian: big
    doc: big
    fields:
      - {name: hi, offset: 0, lsb: 4, bits: 4, doc: "hi"}
      - {name: mid, offset: 1, bits: 24, doc: "mid"}
      - {name: lo, offset: 5, bits: 2, doc: "lo"}
bundles:
  - name: wide
    doc: wide
    fields:
      - {name: top, bits: 5, doc: "top"}
      - {name: data, bits: 70, doc: "data"}
      - {name: mid, bits: 40, doc: "mid"}
      - {name: low, bits: 1, doc: "low"}
  - name: small
    doc: small
    fields:
      - {name: x, bits: 7, doc: "x"}
      - {name: y, bits: 33, doc: "y"}
registers:
  - block: blk
    bar: 0
    base: 0x100
    doc: block
    regs:
      - {name: ctrl, offset: 0, access: rw, reset: 5, doc: "control", fields: [{name: enable, lsb: 1, bits: 2, doc: "enable"}]}
      - {name: even, offset: 0x10, access: ro, count: 4, stride: 8, doc: "interleaved"}
      - {name: odd, offset: 0x14, access: rw1c, count: 4, stride: 8, doc: "interleaved"}
"""
OTHER = """\
file: other
doc: refers back
constants:
  - {name: base, value: "good.lanes * 6", doc: "from the other file"}
"""

CPP = r"""
#include <cstdlib>
#include <cstring>
#include "ubl/spec/good.hpp"
#include "ubl/spec/other.hpp"
#define CHECK(x) do { if (!(x)) { return __LINE__; } } while (0)
using namespace ubl::spec;
int main() {
  static_assert(kGoodLanes == 4 && kGoodWidth == 24 && kGoodOther == 12 && kOtherBase == 24);
  static_assert(sizeof(kGoodBig) == 8 && kGoodBig == 0x100000000ull);
  static_assert(reg::kBlkCtrl == 0x100 && reg::kBlkCtrlEnableLsb == 1 && reg::kBlkCtrlEnableMask == 6);
  static_assert(reg::kBlkOddStride == 8 && reg::kBlkCtrlReset == 5);
  CHECK(!std::strcmp(to_string(On::kNo), "no") && !std::strcmp(to_string(static_cast<On>(3)), "?"));
  Lit l; l.a = 0x1abc; l.b = 0xff; l.c = 0x0123456789abcdefull;
  uint8_t p[16]; std::memset(p, 0xee, sizeof p); l.pack(p);
  const uint8_t want[16] = {0xe0, 0xd5, 0x07, 0, 0, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0, 0, 0};
  CHECK(!std::memcmp(p, want, 16));
  l.b = 7; CHECK(Lit::unpack(p) == l); l.a ^= 1; CHECK(Lit::unpack(p) != l);
  Net n; n.hi = 9; n.mid = 0x123456; n.lo = 2; n.pack(p);
  const uint8_t wantn[6] = {0x90, 0x12, 0x34, 0x56, 0, 2};
  CHECK(!std::memcmp(p, wantn, 6)); CHECK(Net::unpack(p) == n);
  static_assert(Wide::kBits == 116 && Wide::kWords == 4 && Wide::kTopLsb == 111 && Wide::kDataBits == 70);
  std::srand(1);
  for (int i = 0; i < 1000; ++i) {
    Wide w; w.top = static_cast<uint8_t>(std::rand() & 31); w.low = static_cast<uint8_t>(i & 1);
    for (auto& d : w.data) d = static_cast<uint32_t>(std::rand());
    w.data[2] &= 63; w.mid = (static_cast<uint64_t>(std::rand()) << 20 ^ static_cast<uint64_t>(std::rand())) & 0xffffffffffull;
    uint32_t words[4]; w.to_words(words); CHECK(Wide::from_words(words) == w);
    for (unsigned b = 0; b < 70; ++b)  // bit by bit against the definition
      CHECK((words[(41 + b) / 32] >> (41 + b) % 32 & 1) == (w.data[b / 32] >> b % 32 & 1));
    CHECK((words[3] >> 15) == w.top && (words[0] & 1) == w.low);
  }
  Small s; s.x = 0x55; s.y = 0x1deadbeefull;
  CHECK(s.to_u64() == (0x55ull << 33 | 0x1deadbeefull)); CHECK(Small::from_u64(s.to_u64()) == s);
  return 0;
}
"""

SV = """\
module t;
  logic [127:0] v;
  ubl_pkg::lit_t l;
  ubl_pkg::net_t n;
  ubl_pkg::wide_t w;
  initial begin
    v = 128'h0123456789abcdef00_0007_d5e0;
    l = ubl_pkg::lit_t'(v);
    if (l.a !== 13'h1abc || l.b !== 3'h7) $stop;
    n = ubl_pkg::net_t'(48'h9012_3456_0002);
    if (n.hi !== 4'h9 || n.mid !== 24'h123456 || n.lo !== 2'h2) $stop;
    w = ubl_pkg::wide_t'(116'h1 << 111);
    if (w.top !== 5'h1 || $bits(w) != ubl_pkg::WideBits) $stop;
    if ($bits(l) != 8 * ubl_pkg::LitBytes || ubl_pkg::GoodWidth != 24) $stop;
    if (ubl_pkg::RegBlkEven != 32'h110 || ubl_pkg::RegBlkCtrlEnableLsb != 1) $stop;
    $write("SV_OK\\n");
    $finish;
  end
endmodule
"""

HEAD = "file: bad\ndoc: d\n"
# (what, text, line, part of the message)
BAD = [
    ("unknown key", HEAD + "constants:\n  - {name: a, value: 1, dco: x}\n", 4, "unknown key 'dco'"),
    ("unknown list", HEAD + "constant:\n  - {name: a, value: 1, doc: x}\n", 4, "unknown key 'constant'"),
    ("missing key", HEAD + "constants:\n  - {name: a, value: 1}\n", 4, "lacks key 'doc'"),
    ("key twice", HEAD + "constants:\n  - {name: a, value: 1,\n     name: b, doc: x}\n", 5, "given twice"),
    ("not YAML", HEAD + "constants: [\n", 4, "not valid YAML"),
    ("list is a word", HEAD + "constants: none\n", 3, "must be a list"),
    ("item is a word", HEAD + "constants:\n  - seven\n", 4, "must be a mapping"),
    ("bits is text", HEAD + "bundles:\n  - name: b\n    doc: d\n    fields:\n      - {name: x, bits: seven, doc: d}\n",
     7, "'bits' must be an integer"),
    ("zero bits", HEAD + "bundles:\n  - name: b\n    doc: d\n    fields:\n      - {name: x, bits: 0, doc: d}\n",
     7, "'bits' is 0"),
    ("octal", HEAD + "constants:\n  - {name: a, value: 010, doc: x}\n", 4, "decimal or 0x"),
    ("camel name", HEAD + "constants:\n  - {name: aB, value: 1, doc: x}\n", 4, "lower_snake_case"),
    ("reserved word", HEAD + "bundles:\n  - name: b\n    doc: d\n    fields:\n      - {name: logic, bits: 1, doc: d}\n",
     7, "reserved word"),
    ("empty doc", HEAD + "constants:\n  - {name: a, value: 1, doc: ''}\n", 4, "'doc' must be text"),
    ("duplicate constant", HEAD + "constants:\n  - {name: a, value: 1, doc: x}\n  - {name: a, value: 2, doc: x}\n",
     5, "duplicate constant 'a'"),
    ("constant too wide", HEAD + "constants:\n  - {name: a, value: 256, width: 8, doc: x}\n", 4, "does not fit 8 bits"),
    ("constant over 32 bits", HEAD + "constants:\n  - {name: a, value: 0x100000000, doc: x}\n", 4, "give a width"),
    ("negative", HEAD + "constants:\n  - {name: a, value: '1 - 2', doc: x}\n", 4, "does not fit"),
    ("expression syntax", HEAD + "constants:\n  - {name: a, value: '1 +', doc: x}\n", 4, "bad expression"),
    ("call in expression", HEAD + "constants:\n  - {name: a, value: 'exit(0)', doc: x}\n", 4, "bad expression"),
    ("power in expression", HEAD + "constants:\n  - {name: a, value: '2 ** 3', doc: x}\n", 4, "bad expression"),
    ("division by zero", HEAD + "constants:\n  - {name: a, value: '2 / 0', doc: x}\n", 4, "division by zero"),
    ("named later", HEAD + "constants:\n  - {name: a, value: b, doc: x}\n  - {name: b, value: 1, doc: x}\n",
     4, "unknown constant 'b'"),
    ("unknown file", HEAD + "constants:\n  - {name: a, value: nil.b, doc: x}\n", 4, "unknown constant 'nil.b'"),
    ("enum value too wide", HEAD + "enums:\n  - name: e\n    width: 2\n    doc: d\n    values:\n"
     "      - {name: a, value: 4, doc: x}\n", 8, "does not fit 2 bits"),
    ("enum values equal", HEAD + "enums:\n  - name: e\n    width: 2\n    doc: d\n    values:\n"
     "      - {name: a, value: 1, doc: x}\n      - {name: b, value: 1, doc: x}\n", 9, "are both 1"),
    ("enum names equal", HEAD + "enums:\n  - name: e\n    width: 2\n    doc: d\n    values:\n"
     "      - {name: a, value: 1, doc: x}\n      - {name: a, value: 2, doc: x}\n", 9, "duplicate enum value"),
    ("type names equal", HEAD + "enums:\n  - name: e\n    width: 2\n    doc: d\n    values:\n"
     "      - {name: a, value: 1, doc: x}\nbundles:\n  - name: e\n    doc: d\n    fields:\n"
     "      - {name: a, bits: 1, doc: x}\n", 10, "duplicate name 'e'"),
    ("little overlap", HEAD + "layouts:\n  - name: l\n    bytes: 4\n    endian: little\n    doc: d\n    fields:\n"
     "      - {name: a, offset: 0, bits: 9, doc: x}\n      - {name: b, offset: 1, bits: 8, doc: x}\n", 10, "overlaps 'a'"),
    ("big overlap", HEAD + "layouts:\n  - name: l\n    bytes: 4\n    endian: big\n    doc: d\n    fields:\n"
     "      - {name: a, offset: 0, bits: 16, doc: x}\n      - {name: b, offset: 1, lsb: 7, bits: 1, doc: x}\n",
     10, "overlaps 'a'"),
    ("outside layout", HEAD + "layouts:\n  - name: l\n    bytes: 4\n    endian: little\n    doc: d\n    fields:\n"
     "      - {name: a, offset: 3, bits: 9, doc: x}\n", 9, "ends at bit 33"),
    ("big not whole bytes", HEAD + "layouts:\n  - name: l\n    bytes: 4\n    endian: big\n    doc: d\n    fields:\n"
     "      - {name: a, offset: 0, bits: 12, doc: x}\n", 9, "whole bytes"),
    ("endian", HEAD + "layouts:\n  - name: l\n    bytes: 4\n    endian: middle\n    doc: d\n    fields: []\n",
     6, "little or big"),
    ("unknown enum", HEAD + "layouts:\n  - name: l\n    bytes: 4\n    endian: big\n    doc: d\n    fields:\n"
     "      - {name: a, offset: 0, bits: 8, enum: nil, doc: x}\n", 9, "unknown enum 'nil'"),
    ("duplicate field", HEAD + "bundles:\n  - name: b\n    doc: d\n    fields:\n      - {name: x, bits: 1, doc: d}\n"
     "      - {name: x, bits: 1, doc: d}\n", 8, "duplicate field 'x'"),
    ("register overlap", HEAD + "registers:\n  - block: b\n    bar: 0\n    base: 0\n    doc: d\n    regs:\n"
     "      - {name: a, offset: 0, access: rw, count: 4, stride: 4, doc: x}\n"
     "      - {name: c, offset: 12, access: rw, doc: x}\n", 10, "overlaps 'a'"),
    ("register unaligned", HEAD + "registers:\n  - block: b\n    bar: 0\n    base: 0\n    doc: d\n    regs:\n"
     "      - {name: a, offset: 2, access: rw, doc: x}\n", 9, "multiple of 4"),
    ("register access", HEAD + "registers:\n  - block: b\n    bar: 0\n    base: 0\n    doc: d\n    regs:\n"
     "      - {name: a, offset: 0, access: rx, doc: x}\n", 9, "ro, rw, wo or rw1c"),
    ("count without stride", HEAD + "registers:\n  - block: b\n    bar: 0\n    base: 0\n    doc: d\n    regs:\n"
     "      - {name: a, offset: 0, access: rw, count: 2, doc: x}\n", 9, "go together"),
    ("register field overlap", HEAD + "registers:\n  - block: b\n    bar: 0\n    base: 0\n    doc: d\n    regs:\n"
     "      - {name: a, offset: 0, access: rw, doc: x, fields: [{name: f, lsb: 0, bits: 4, doc: x},\n"
     "          {name: g, lsb: 3, bits: 1, doc: x}]}\n", 10, "overlaps 'f'"),
    ("register reset", HEAD + "registers:\n  - block: b\n    bar: 0\n    base: 0\n    doc: d\n    regs:\n"
     "      - {name: a, offset: 0, access: rw, reset: 0x100000000, doc: x}\n", 9, "'reset' is"),
    ("names collide", HEAD + "constants:\n  - {name: a_1, value: 1, doc: x}\n  - {name: a1, value: 1, doc: x}\n",
     5, "collides with rtl/spec/bad.yaml:4"),
    ("wrong file name", "file: other\ndoc: d\n", 1, "the file is bad.yaml"),
]


class Generate(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="ubl_spec_"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "rtl/spec").mkdir(parents=True)

    def write(self, name, text):
        (self.root / "rtl/spec" / f"{name}.yaml").write_text(text)

    def run_it(self, *args):
        return subprocess.run([GENERATE, "--root", self.root, *args], capture_output=True, text=True)

    def good(self):
        self.write("good", GOOD)
        self.write("other", OTHER)
        r = self.run_it()
        self.assertEqual(r.returncode, 0, r.stderr)
        return self.root / "rtl/spec/generated"

    def test_bad_inputs(self):
        # In this process: starting Python for each would take most of the time of the quick tests.
        for what, text, line, part in BAD:
            with self.subTest(what):
                self.write("bad", text)
                with self.assertRaises(spec.SpecErrors) as caught:
                    spec.load(self.root / "rtl/spec", "rtl/spec")
                self.assertIn(f"rtl/spec/bad.yaml:{line}: ", str(caught.exception))
                self.assertIn(part, str(caught.exception))

    def test_bad_input_writes_nothing(self):
        what, text, line, part = BAD[0]
        self.write("bad", text)
        r = self.run_it()
        self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
        self.assertIn(f"rtl/spec/bad.yaml:{line}: {part}", r.stderr)
        self.assertNotIn("Traceback", r.stderr)
        self.assertFalse((self.root / "docs").exists())

    def test_collision_across_files(self):
        self.write("aa", "file: aa\ndoc: d\nconstants:\n  - {name: b_c, value: 1, doc: x}\n")
        self.write("aa_b", "file: aa_b\ndoc: d\nconstants:\n  - {name: c, value: 1, doc: x}\n")
        r = self.run_it()
        self.assertEqual(r.returncode, 2)
        self.assertIn("rtl/spec/aa_b.yaml:4: ", r.stderr)
        self.assertIn("collides with rtl/spec/aa.yaml:4", r.stderr)

    def test_type_duplicate_across_files(self):
        for name in ("aa", "bb"):
            self.write(name, f"file: {name}\ndoc: d\nbundles:\n  - name: t\n    doc: d\n    fields:\n"
                             "      - {name: x, bits: 1, doc: d}\n")
        r = self.run_it()
        self.assertEqual(r.returncode, 2)
        self.assertIn("rtl/spec/bb.yaml:4: duplicate name 't', first at rtl/spec/aa.yaml:4", r.stderr)

    def test_circular_constants(self):
        self.write("aa", "file: aa\ndoc: d\nconstants:\n  - {name: x, value: bb.y, doc: d}\n")
        self.write("bb", "file: bb\ndoc: d\nconstants:\n  - {name: y, value: aa.x, doc: d}\n")
        r = self.run_it()
        self.assertEqual(r.returncode, 2)
        self.assertRegex(r.stderr, r"rtl/spec/(aa|bb)\.yaml:4: .*depends on itself")

    def test_several_errors_in_one_run(self):
        self.write("bad", HEAD + "constants:\n  - {name: A, value: 1, doc: x}\n  - {name: b, value: q, doc: x}\n")
        r = self.run_it()
        self.assertIn("bad.yaml:4:", r.stderr)
        self.assertIn("bad.yaml:5:", r.stderr)

    def test_no_yaml(self):
        self.assertEqual(self.run_it().returncode, 2)

    def test_check_and_incremental(self):
        gen = self.good()
        self.assertEqual(self.run_it("--check").returncode, 0)
        files = [p for p in self.root.rglob("*") if p.is_file() and p.suffix != ".yaml"]
        self.assertEqual(len(files), 6)
        for p in files:
            body = p.read_text()
            self.assertIn("do not edit", body)
            self.assertIn("SPDX-License-Identifier: Apache-2.0", body)
            os.utime(p, (1, 1))
        self.assertEqual(self.run_it().stdout, "")
        self.assertTrue(all(p.stat().st_mtime == 1 for p in files))  # untouched: builds stay incremental
        header = gen / "c/ubl_spec.h"
        header.write_text(header.read_text() + "x")
        (gen / "sv/ubl_pkg.sv").unlink()
        r = self.run_it("--check")
        self.assertEqual(r.returncode, 1)
        self.assertEqual(r.stdout.split("\n")[:2], ["stale: rtl/spec/generated/c/ubl_spec.h",
                                                    "stale: rtl/spec/generated/sv/ubl_pkg.sv"])
        self.assertFalse((gen / "sv/ubl_pkg.sv").exists())

    def test_removed_yaml(self):
        self.write("gone", "file: gone\ndoc: d\n")
        self.good()
        page = self.root / "docs/reference/hand.md"
        page.write_text("written by hand\n")
        (self.root / "rtl/spec/gone.yaml").unlink()
        r = self.run_it("--check")
        self.assertEqual(r.returncode, 1)
        self.assertIn("docs/reference/gone.md", r.stdout)
        self.run_it()
        self.assertFalse((self.root / "docs/reference/gone.md").exists())
        self.assertTrue(page.exists())
        self.assertEqual(self.run_it("--check").returncode, 0)

    def test_cpp(self):
        gen = self.good()
        src = self.root / "t.cpp"
        src.write_text(CPP)
        subprocess.run(["g++", "-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror",
                        "-fsanitize=undefined", "-fno-sanitize-recover", "-I", gen / "cpp", src, "-o",
                        self.root / "t"], check=True)
        self.assertEqual(subprocess.run([self.root / "t"]).returncode, 0)

    def test_c(self):
        gen = self.good()
        src = self.root / "t.c"
        src.write_text('#include "ubl_spec.h"\n'
                       "_Static_assert(UBL_GOOD_LANES == 4 && UBL_ON_NO == 7 && UBL_REG_BLK_CTRL == 0x100, \"\");\n"
                       "_Static_assert(UBL_REG_BLK_CTRL_ENABLE_MASK == 6 && UBL_LIT_BYTES == 16, \"\");\n"
                       "_Static_assert(UBL_GOOD_BIG == 0x100000000ull && UBL_REG_BLK_ODD_STRIDE == 8, \"\");\n")
        subprocess.run(["gcc", "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-c", "-I", gen / "c", src,
                        "-o", self.root / "t.o"], check=True)

    @unittest.skipUnless(shutil.which("verilator"), "needs verilator")
    def test_systemverilog(self):
        gen = self.good()
        src = self.root / "t.sv"
        src.write_text(SV)
        obj = self.root / "obj"
        subprocess.run(["verilator", "--cc", "--exe", "--main", "--no-timing", "-Wno-WIDTH", "--Mdir", obj, "--top",
                        "t", gen / "sv/ubl_pkg.sv", src], check=True)
        subprocess.run(["make", "-C", obj, "-f", "Vt.mk", "-j1", "OPT_GLOBAL=-O0", "OBJCACHE=" + (shutil.which("ccache") or "")], check=True, stdout=subprocess.DEVNULL)
        r = subprocess.run([obj / "Vt"], capture_output=True, text=True)
        self.assertIn("SV_OK", r.stdout + r.stderr)

    @unittest.skipUnless(shutil.which("verilator"), "needs verilator")
    def test_lint_clean(self):
        gen = self.good()
        top = self.root / "top.sv"
        top.write_text("module top (output ubl_pkg::wide_t w_o);\n"
                       "  always_comb w_o = {ubl_pkg::WideBits{1'b0}};\nendmodule\n")
        subprocess.run(["verilator", "--lint-only", "-Wall", "--top", "top", gen / "sv/ubl_pkg.sv", top], check=True)

    @unittest.skipUnless(shutil.which("yosys"), "needs yosys")
    def test_yosys(self):
        gen = self.good()
        subprocess.run(["yosys", "-q", "-p", f"read_verilog -sv {gen}/sv/ubl_pkg.sv"], check=True)


if __name__ == "__main__":
    unittest.main()
