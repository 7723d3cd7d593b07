#!/usr/bin/python3
# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
"""Does the test notice? Builds host_if with one deliberate bug at a time, and once as the netlist
that yosys makes of it, without assertions, and runs the test program against each: the bugs must
fail, the netlist must pass.

usage: mutate.py [--only NAME] [--no-netlist] --work DIR --cxx CXX -- LINK-INPUTS...
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
RTL = ROOT / "rtl" / "host_if"
FILES = ["host_if.sv", "host_mmio.sv", "host_msix.sv", "host_dma.sv"]

# name, file, text that occurs exactly once, replacement
MUTANTS = [
    ("masked_raise_lost", "host_dma.sv", "msix_pend_o = 1'b1;", "msix_pend_o = 1'b0;"),
    ("mask_ignored", "host_dma.sv", "msix_query_masked_i || !bme_i", "!bme_i"),
    ("message_without_bme", "host_dma.sv", "msix_query_masked_i || !bme_i", "msix_query_masked_i"),
    ("pending_fires_without_bme", "host_dma.sv", "msix_fire_valid_i & bme_i;", "msix_fire_valid_i;"),
    ("pending_cleared_early", "host_dma.sv", "msix_fire_ack_o = out_free;", "msix_fire_ack_o = 1'b1;"),
    ("access_without_bme", "host_dma.sv", "is_access && bme_i", "is_access"),
    ("access_lost", "host_dma.sv", "load_head = out_free;\n        head_pop  = out_free;",
     "load_head = out_free;\n        head_pop  = 1'b1;"),
    ("refusal_lost", "host_dma.sv", "head_pop = ~hdma_rsp_valid_i;", "head_pop = 1'b1;"),
    ("refused_msix_not_counted", "host_dma.sv", "blocked     = ~bme_i;", "blocked     = 1'b0;"),
    ("vector_not_checked", "host_dma.sv", "head.addr[15:6] == '0", "head.addr[15:7] == '0"),
    ("no_fence", "host_dma.sv", "(fence_q == '0) & out_free;", "1'b1;"),
    ("fence_forgets_output", "host_dma.sv", "(fence_q == '0) & out_free;", "fence_q == '0;"),
    ("fence_forgets_queue", "host_dma.sv", "(fence_q == '0) & out_free;", "out_free;"),
    ("fence_never_ends", "host_dma.sv", "head_pop & (fence_start_i | (fence_q != '0))", "1'b0"),
    ("idle_with_interrupt", "host_dma.sv", " & ~msix_fire_valid_i;", ";"),
    ("unmasked_after_reset", "host_msix.sv", "mask_q     <= '1;", "mask_q     <= '0;"),
    ("table_survives_reset", "host_msix.sv", "hi_set_q   <= '0;", ""),
    ("pending_survives_reset", "host_msix.sv", "if (!rst_ni) pend_q <= '0;\n    else         pend_q",
     "pend_q"),
    ("vector_encoder", "host_msix.sv", "64'hCCCC_CCCC_CCCC_CCCC", "64'hCCCC_CCCC_CCCC_CCC4"),
    ("message_address_bits", "host_msix.sv", "? {lo_mem[query_vec_i], 2'b00}",
     "? {lo_mem[query_vec_i], 2'b01}"),
    ("doorbell_overrun", "host_mmio.sv", "db_free = ~db_valid_q | db_ready_i;", "db_free = 1'b1;"),
    ("nic_error_ignored", "host_mmio.sv", "word_bad   = csr_rsp_i.err;", "word_bad   = 1'b0;"),
    ("first_half_error_lost", "host_mmio.sv", "half_q & rsp_q.err;", "1'b0;"),
    ("misaligned_8_accepted", "host_mmio.sv", " & ~(head.size8 & head.addr[2]);", ";"),
    ("misaligned_accepted", "host_mmio.sv", "(head.addr[1:0] == 2'b00) &", "1'b1 &"),
    ("time_tears", "host_mmio.sv", "cycles_hi_q <= now_i[63:32];", "cycles_hi_q <= now_i[63:32] + 32'd1;"),
    ("latch_at_any_read", "host_mmio.sv", "~head.write & (addr == ubl_pkg::RegHostCyclesLo);",
     "~head.write;"),
    ("one_cq_too_many", "host_mmio.sv", "(addr < CqEnd)", "(addr <= CqEnd)"),
    ("one_qp_too_many", "host_mmio.sv", "(addr < SqEnd)", "(addr <= SqEnd)"),
    ("qp_index_short", "host_mmio.sv", "{6'h0, addr[12:3]}", "{7'h0, addr[11:3]}"),
    ("bar_not_checked", "host_mmio.sv", "hit_table = aligned & (head.bar == 3'd4)", "hit_table = aligned"),
    ("read_only_written", "host_mmio.sv", "~host_known | (head.write & ~host_writable)", "~host_known"),
    ("pba_write_not_counted", "host_mmio.sv", "word_bad   = head.write;", "word_bad   = 1'b0;"),
    ("read_answered_at_once", "host_mmio.sv", "StCsrReq: if (csr_req_ready_i) state_d = StCsrRsp;",
     "StCsrReq: if (csr_req_ready_i) begin word_done = 1'b1; state_d = StRun; end"),
    ("tag_dropped", "host_mmio.sv", "rsp_q.tag <= head.tag;", "rsp_q.tag <= '0;"),
]


def run(cmd, **kw):
    return subprocess.run([str(c) for c in cmd], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **kw)


def build(args, name, folder, recompile=False):
    """Verilated model of the sources in `folder`, linked with the test's objects. A netlist has its
    ports in another order, so that the model's class differs and the test is compiled again."""
    obj = args.work / name / "obj"
    archive = args.work / name / "dut.a"
    sources = sorted(folder.glob("*.sv")) + sorted(folder.glob("*.v"))
    r = run([ROOT / "scripts/verilate", "--name", name, "--mode", "fast", "--prefix", "Vhost_ifChk",
             "--top", "host_if", "--obj", obj, "--archive", archive, "--depfile", f"{archive}.d",
             "--cxx", args.cxx, "--", *args.verilator_args, *sources])
    if r.returncode:
        sys.exit(f"{name}: does not build\n{r.stdout}")
    exe = args.work / name / "test"
    objects = [a for a in args.inputs if not a.endswith(".a")]
    archives = [a for a in args.inputs if a.endswith(".a")]
    if recompile:
        objects = [a for a in objects if "rtl_host_if" not in a]
        includes = [f"-I{obj}", f"-I{ROOT}/cmake/verilated", f"-I{ROOT}/rtl/spec/generated/cpp", f"-I{ROOT}/tests/include",
                    f"-I{args.verilator_include}", f"-I{args.verilator_include}/vltstd"]
        for source in ["bench", "host_if_test"]:
            r = run([args.cxx, "-std=c++17", "-O1", "-w", "-DVL_TIME_CONTEXT", *includes, "-c",
                     ROOT / f"tests/rtl/host_if/{source}.cpp", "-o", obj / f"{source}.o"])
            if r.returncode:
                sys.exit(f"{name}: {source}.cpp does not compile\n{r.stdout}")
            objects.append(obj / f"{source}.o")
    r = run([args.cxx, *objects, archive, *archives, "-lgmock", "-lgtest", "-lfmt", "-lpthread",
             "-o", exe])
    if r.returncode:
        sys.exit(f"{name}: does not link\n{r.stdout}")
    return exe


def verdict(exe):
    """Whether the tests passed, and the first test that did not."""
    try:
        r = run([exe, "--gtest_brief=1"], timeout=300)
    except subprocess.TimeoutExpired:
        return False, "time-out"
    failed = [line.split()[3] for line in r.stdout.splitlines() if line.startswith("[  FAILED  ] Host")
              for line in [line.replace(",", "")]]
    return r.returncode == 0, failed[0] if failed else f"exit status {r.returncode}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--work", type=pathlib.Path, required=True)
    p.add_argument("--cxx", default="g++")
    p.add_argument("--only", help="one mutant")
    p.add_argument("--no-netlist", action="store_true")
    p.add_argument("inputs", nargs="*", help="objects and archives of the test program")
    args = p.parse_args()
    args.inputs = [name for arg in args.inputs for name in arg.split(";")]  # CMake lists
    args.verilator_args = []
    root = run(["verilator", "--getenv", "VERILATOR_ROOT"]).stdout.strip()
    args.verilator_include = f"{root}/include"
    bad = []
    for name, file, old, new in MUTANTS:
        if args.only and name != args.only:
            continue
        folder = args.work / name / "rtl"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for f in FILES:
            text = (RTL / f).read_text()
            if f == file:
                if text.count(old) != 1:
                    sys.exit(f"{name}: {old!r} occurs {text.count(old)} times in {f}")
                text = text.replace(old, new)
            (folder / f).write_text(text)
        args.verilator_args = ["-Wno-lint"]
        passed, first = verdict(build(args, name, folder))
        print(f"{name:28} {'NOT NOTICED' if passed else 'noticed by ' + first}", flush=True)
        if passed:
            bad.append(name)
        shutil.rmtree(args.work / name, ignore_errors=True)

    if not args.no_netlist and not args.only:
        folder = args.work / "netlist" / "rtl"
        folder.mkdir(parents=True, exist_ok=True)
        out = folder / "host_if.v"
        sources = [ROOT / "rtl/spec/generated/sv/ubl_pkg.sv", ROOT / "rtl/common/ubl_fifo.sv",
                   *[RTL / f for f in FILES]]
        r = run(["yosys", "-q", "-p",
                 f"read_verilog -sv -I{ROOT}/rtl/common {' '.join(map(str, sources))}; "
                 "hierarchy -check -top host_if; proc; flatten; opt; check -assert; "
                 f"write_verilog -noattr {out}"])
        if r.returncode:
            sys.exit(f"netlist: yosys failed\n{r.stdout}")
        # Netlists are full of what lint warns about.
        args.verilator_args = ["-Wno-fatal"]
        passed, first = verdict(build(args, "netlist", folder, recompile=True))
        print(f"{'netlist':28} {'equal' if passed else 'DIFFERS: ' + first}")
        if not passed:
            bad.append("netlist")
    if bad:
        sys.exit("failed: " + ", ".join(bad))


main()
