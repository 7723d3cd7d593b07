#!/usr/bin/python3
# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
"""Gate-level netlists of ubl_crc32_window and ubl_crc32_pair against zlib, evaluated by yosys itself.

Verilator 5.006 gets wide trees of exclusive-ors of such netlists wrong (the same netlists evaluated by
yosys are right), so scripts/netlist cannot judge them.

usage: netlist_crc32.py [--vectors N] [--seed N] [--broken]
  --broken   breaks one gate; the comparison must then fail
"""
import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MASK = 0xFFFFFFFF


def register(state, data):
    """The CRC register behind `data`; zlib complements before and after."""
    return zlib.crc32(data, state ^ MASK) ^ MASK


def icrc(frame):
    """Register of the ICRC: eight bytes of ones, then the packet with its variant fields as ones."""
    covered = bytearray(b"\xff" * 8 + frame[14:])
    for at in (1, 8, 10, 11, 26, 27, 32):
        covered[8 + at] = 0xFF
    return register(MASK, bytes(covered))


def window(rng):
    n, data, state = rng.randrange(17), rng.randbytes(64), rng.getrandbits(32)
    return ({"state_i": (state, 32), "data_i": (int.from_bytes(data, "little"), 512), "nwords_i": (n, 5)},
            {"state_o": register(state, data[:4 * n])})


def pair(rng):
    first = rng.randrange(2)
    # Window 0 holds all of the headers that the ICRC leaves out only from 15 words on.
    n, data = rng.randrange(15, 17) if first else rng.randrange(17), rng.randbytes(64)
    fcs, ic = rng.getrandbits(32), rng.getrandbits(32)
    taken = data[:4 * n]
    want = ({"fcs_o": register(MASK, taken[2:]), "icrc_o": icrc(taken[2:])} if first else
            {"fcs_o": register(fcs, taken), "icrc_o": register(ic, taken)})
    return ({"first_i": (first, 1), "data_i": (int.from_bytes(data, "little"), 512), "nwords_i": (n, 5),
             "fcs_i": (fcs, 32), "icrc_i": (ic, 32)}, want)


def evaluate(top, vectors, broken):
    with tempfile.TemporaryDirectory(prefix="ubl_crc32.") as work:
        for source in ("rtl/spec/generated/sv/ubl_pkg.sv", "rtl/common/ubl_crc32.svh", f"rtl/numerics/{top}.sv"):
            shutil.copy(ROOT / source, work)
        synthesis = (f"read_verilog -sv -DSYNTHESIS ubl_pkg.sv {top}.sv; hierarchy -top {top}; proc; flatten; opt; "
                     "techmap; opt; stat; write_verilog -noattr netlist.v")
        log = subprocess.run(["yosys", "-p", synthesis], cwd=work, capture_output=True, text=True, check=True).stdout
        netlist = Path(work) / "netlist.v"
        if broken:
            text, count = re.subn(r"\^", "&", netlist.read_text(), count=1)
            assert count == 1
            netlist.write_text(text)
        lines = ["read_verilog netlist.v", f"hierarchy -top {top}"]
        for inputs, outputs in vectors:
            sets = " ".join(f"-set {name} {width}'h{value:x}" for name, (value, width) in inputs.items())
            lines.append(f"eval {sets} " + " ".join(f"-show {name}" for name in outputs))
        (Path(work) / "eval.ys").write_text("\n".join(lines) + "\n")
        out = subprocess.run(["yosys", "-s", "eval.ys"], cwd=work, capture_output=True, text=True, check=True).stdout
    gates = sum(int(n) for n in re.findall(r"^\s+\$_\w+_\s+(\d+)$", log, re.M))
    # A value below 2^31 comes as a decimal number.
    values = [(name, int(bits, 2) if bits else int(number)) for name, bits, number in
              re.findall(r"Eval result: \\(\w+) = (?:32'([01]+)|(\d+))\.", out)]
    want = [item for _, outputs in vectors for item in outputs.items()]
    assert [name for name, _ in values] == [name for name, _ in want], "yosys did not evaluate every vector"
    return gates, sum(got != expected for got, expected in zip(values, want)), len(want)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--vectors", type=int, default=40)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--broken", action="store_true")
    args = p.parse_args()
    wrong = 0
    for top, vector in (("ubl_crc32_window", window), ("ubl_crc32_pair", pair)):
        rng = random.Random(args.seed)
        gates, bad, values = evaluate(top, [vector(rng) for _ in range(args.vectors)], args.broken)
        print(f"{top}: {gates} gates, {values} values, {bad} wrong (seed {args.seed})", flush=True)
        wrong += bad != 0
    if args.broken:
        print("PASS: a broken gate shows" if wrong == 2 else "FAIL: a broken gate does not show")
        return 0 if wrong == 2 else 1
    print("PASS" if wrong == 0 else "FAIL")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
