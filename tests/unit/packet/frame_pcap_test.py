#!/usr/bin/python3
# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of the golden builder as others read them.

scapy's RoCE layer computes each ICRC; tshark dissects the file: nothing malformed, FCS and IP
checksum right, and every field as the builder was told. tshark knows no vendor opcodes: of REDUCE
frames it reads all up to the BTH. Of a SEND it knows no SENDH and shows it as the start of the payload.

usage: frame_pcap_test.py FRAME_PCAP_PROGRAM
"""
import os
import struct
import subprocess
import sys
import tempfile

from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether

PER_OPCODE = 200
SEND, SEND_IMM, WRITE, WRITE_IMM = 0x04, 0x05, 0x0A, 0x0B
READ_REQUEST, READ_RESPONSE, ACK = 0x0C, 0x10, 0x11
ATOMIC_RESPONSE, COMPARE_SWAP, FETCH_ADD = 0x12, 0x13, 0x14
NAMES = ("opcode psn dst_qpn ack_req becn plane src_node dst_node vc ecn payload_bytes raddr rkey "
         "imm syndrome msn read_len send_number send_offset send_length swap_add compare original").split()


def read_pcap(path):
    with open(path, "rb") as f:
        data = f.read()
    at, frames = 24, []
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


def check_scapy(frames, told):
    for frame, want in zip(frames, told):
        bth = Ether(frame[:-4])[BTH]
        assert bth.compute_icrc(None) == frame[-8:-4], f"ICRC of {want}"
        assert (bth.opcode, bth.psn, bth.dqpn, bth.becn) == (
            want["opcode"], want["psn"], want["dst_qpn"], want["becn"]), want


def tshark(path, *args):
    return subprocess.run(
        ["tshark", "-n", "-r", path, "-o", "eth.fcs:Always", "-o", "eth.check_fcs:TRUE",
         "-o", "ip.check_checksum:TRUE",
         # guesses what a SEND carries, and stumbles over a payload of 12 bytes: an empty SEND
         "--disable-protocol", "rpcordma", *args],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def check_tshark(path, told):
    malformed = tshark(path, "-Y", "_ws.malformed || _ws.expert.severity == error")
    assert malformed == "", "tshark finds:\n" + malformed

    bth = ("infiniband.bth.opcode infiniband.bth.psn infiniband.bth.destqp infiniband.bth.a "
           "infiniband.bth.padcnt ip.src ip.dst ip.dsfield.dscp ip.dsfield.ecn eth.fcs.status "
           "ip.checksum.status udp.dstport eth.src eth.dst").split()
    ext = ("infiniband.reth.va infiniband.reth.r_key infiniband.reth.dmalen infiniband.immdt "
           "infiniband.aeth.syndrome infiniband.aeth.msn data.data infiniband.atomiceth.swapdt "
           "infiniband.atomiceth.cmpdt "
           "infiniband.atomicacketh.origremdt").split()
    args = ["-T", "fields"]
    for field in bth + ext:
        args += ["-e", field]
    lines = tshark(path, *args).splitlines()
    assert len(lines) == len(told), f"{len(lines)} packets instead of {len(told)}"
    for line, w in zip(lines, told):
        got = dict(zip(bth + ext, line.split("\t")))

        def number(field):
            return int(got[field], 0)

        def node(which):
            return f"{w['plane']}.{w[which] >> 8}.{w[which] & 255}"

        def mac(which):
            return f"02:55:00:{w['plane']:02x}:{w[which] >> 8:02x}:{w[which] & 255:02x}"

        assert number("infiniband.bth.opcode") == w["opcode"], (got, w)
        assert number("infiniband.bth.psn") == w["psn"], (got, w)
        assert number("infiniband.bth.destqp") == w["dst_qpn"], (got, w)
        assert got["infiniband.bth.a"] in (("1", "True") if w["ack_req"] else ("0", "False")), (got, w)
        assert number("infiniband.bth.padcnt") == -w["payload_bytes"] % 4, (got, w)
        assert got["ip.src"] == "10." + node("src_node"), (got, w)
        assert got["ip.dst"] == "10." + node("dst_node"), (got, w)
        assert got["eth.src"] == mac("src_node"), (got, w)
        assert got["eth.dst"] == mac("dst_node"), (got, w)
        assert number("ip.dsfield.dscp") == 8 * w["vc"], (got, w)
        assert number("ip.dsfield.ecn") == w["ecn"], (got, w)
        assert got["eth.fcs.status"] in ("1", "Good"), (got, w)
        assert got["ip.checksum.status"] in ("1", "Good"), (got, w)
        assert number("udp.dstport") == 4791, (got, w)
        if w["opcode"] in (WRITE, WRITE_IMM, READ_REQUEST):
            assert number("infiniband.reth.va") == w["raddr"], (got, w)
            assert number("infiniband.reth.r_key") == w["rkey"], (got, w)
            assert number("infiniband.reth.dmalen") == w["payload_bytes"] + w["read_len"], (got, w)
        if w["opcode"] in (WRITE_IMM, SEND_IMM):
            imm = got["infiniband.immdt"].replace(":", "").split(",")[0]  # shown twice
            assert int(imm, 16) == w["imm"], (got, w)
        if w["opcode"] in (COMPARE_SWAP, FETCH_ADD):
            assert number("infiniband.reth.va") == w["raddr"], (got, w)
            assert number("infiniband.reth.r_key") == w["rkey"], (got, w)
            assert number("infiniband.atomiceth.swapdt") == w["swap_add"], (got, w)
            assert number("infiniband.atomiceth.cmpdt") == w["compare"], (got, w)
        if w["opcode"] == ATOMIC_RESPONSE:
            assert number("infiniband.atomicacketh.origremdt") == w["original"], (got, w)
        if w["opcode"] in (READ_RESPONSE, ACK, ATOMIC_RESPONSE):
            assert number("infiniband.aeth.syndrome") == w["syndrome"], (got, w)
            assert number("infiniband.aeth.msn") == w["msn"], (got, w)
        if w["opcode"] in (SEND, SEND_IMM):
            sendh = struct.pack(">III", w["send_number"], w["send_offset"], w["send_length"])
            data = bytes.fromhex(got["data.data"].replace(":", ""))
            assert data[:12] == sendh, (got, w)
            assert len(data) == 12 + w["payload_bytes"] + -w["payload_bytes"] % 4, (got, w)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "frames.pcap")
        out = subprocess.run([sys.argv[1], path, str(PER_OPCODE)], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        told = [dict(zip(NAMES, map(int, line.split()))) for line in out.splitlines()]
        frames = read_pcap(path)
        assert len(frames) == len(told) and len(told) % PER_OPCODE == 0 and told
        check_scapy(frames, told)
        check_tshark(path, told)
        print(f"{len(told)} frames, {len(set(w['opcode'] for w in told))} opcodes: scapy and tshark agree")


if __name__ == "__main__":
    main()
