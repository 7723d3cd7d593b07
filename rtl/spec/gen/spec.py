# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
"""Loads and checks rtl/spec/*.yaml; the schema is described in rtl/spec/README.md.

Every message carries file and line, because the reader of a failed build looks at the YAML, not
at this program. Checks go on after an error, one message per faulty item.
"""

import ast
import operator
import re
from pathlib import Path

import yaml


class SpecError(Exception):
    def __init__(self, path, line, message):
        super().__init__(f"{path}:{line}: {message}")
        self.key = (str(path), line, message)


class SpecErrors(Exception):
    """All errors of a run, sorted by place."""

    def __init__(self, errors):
        self.errors = sorted(set(e.key for e in errors))
        super().__init__("\n".join(f"{p}:{n}: {m}" for p, n, m in self.errors))


# ------------------------------------------------------------------------------------------------
# YAML with line numbers


class Node:
    """A YAML value that knows where it was written. `value` is dict[str, Node], list or scalar."""

    __slots__ = ("path", "line", "value", "raw")

    def __init__(self, path, line, value, raw=None):
        self.path, self.line, self.value, self.raw = path, line, value, raw

    def error(self, message):
        return SpecError(self.path, self.line, message)


def _convert(path, node, errors):
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        out = {}
        for key, val in node.value:
            kline = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                errors.append(SpecError(path, kline, "a key must be a plain word"))
                continue
            if key.value in out:
                errors.append(SpecError(path, kline, f"key '{key.value}' is given twice"))
                continue
            out[key.value] = _convert(path, val, errors)
        return Node(path, line, out)
    if isinstance(node, yaml.SequenceNode):
        return Node(path, line, [_convert(path, v, errors) for v in node.value])
    if node.tag.endswith(":int"):
        try:
            return Node(path, line, int(node.value.replace("_", ""), 0), node.value)
        except ValueError:  # YAML 1.1 octal (010) and base 60 (1:30) surprise people
            errors.append(SpecError(path, line, f"write '{node.value}' as decimal or 0x... integer"))
            return Node(path, line, 0, node.value)
    # A name such as `on` or `no` is a word here, never a boolean.
    return Node(path, line, node.value, node.value)


def load_yaml(path, shown, errors):
    try:
        root = yaml.compose(Path(path).read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        errors.append(SpecError(shown, mark.line + 1 if mark else 1, f"not valid YAML: {e.problem}"))
        return None
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        errors.append(SpecError(shown, 1, f"not valid YAML: {e}"))
        return None
    if root is None:
        errors.append(SpecError(shown, 1, "file is empty"))
        return None
    return _convert(shown, root, errors)


# ------------------------------------------------------------------------------------------------
# Names

NAME_RE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

# Member names are written unchanged into SystemVerilog, C++ and C.
RESERVED = set(
    """
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
    before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
    checker class clocking cmos config const constraint context continue cover covergroup coverpoint
    cross deassign default defparam design disable dist do edge else end endcase endclass
    endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
    endprimitive endprogram endproperty endspecify endsequence endtable endtask enum event
    eventually expect export extends extern final first_match for force foreach forever fork
    forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins
    implements implies import incdir include initial inout input inside instance int integer
    interconnect interface intersect join join_any join_none large let liblist library local
    localparam logic longint macromodule matches medium modport module nand negedge nettype new
    nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed parameter pmos
    posedge primitive priority program property protected pull0 pull1 pulldown pullup
    pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime
    ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always
    s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
    signed small soft solve specify specparam static string strong strong0 strong1 struct super
    supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
    timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union
    unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait
    wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
    alignas alignof and_eq asm auto bitand bitor bool catch char char8_t char16_t char32_t co_await
    co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete double
    dynamic_cast explicit false float friend goto inline long mutable namespace noexcept not_eq
    nullptr operator or_eq private public register reinterpret_cast requires short sizeof
    static_assert static_cast switch template thread_local throw true try typeid typename using
    volatile wchar_t xor_eq restrict
    pack unpack to_words from_words to_u64 from_u64
    """.split()
)


def camel(name):
    return "".join(p[:1].upper() + p[1:] for p in name.split("_"))


class Names:
    """Names that end in one scope of one output language must differ, whichever file made them."""

    def __init__(self):
        self.seen = {}

    def add(self, node, **names):
        for space, name in names.items():
            for one in [name] if isinstance(name, str) else name:
                other = self.seen.get((space, one))
                if other is not None and other is not node:
                    raise node.error(
                        f"generated {space} name '{one}' collides with {other.path}:{other.line}")
                self.seen[(space, one)] = node


# ------------------------------------------------------------------------------------------------
# Checked reading of nodes


def obj(node, what, required, optional=()):
    if not isinstance(node.value, dict):
        raise node.error(f"{what} must be a mapping")
    for key, val in node.value.items():
        if key not in required and key not in optional:
            raise val.error(f"unknown key '{key}' in {what}")
    for key in required:
        if key not in node.value:
            raise node.error(f"{what} lacks key '{key}'")
    return node.value


def seq(node, what):
    if not isinstance(node.value, list):
        raise node.error(f"'{what}' must be a list")
    return node.value


def integer(node, what, lo=0, hi=None):
    if not isinstance(node.value, int):
        raise node.error(f"'{what}' must be an integer")
    if node.value < lo or (hi is not None and node.value > hi):
        raise node.error(f"'{what}' is {node.value}, not in {lo}..{hi if hi is not None else ''}")
    return node.value


def name_of(node, what="name"):
    if not isinstance(node.raw, str) or not NAME_RE.fullmatch(node.raw):
        raise node.error(f"'{what}' must be lower_snake_case, not {node.raw!r}")
    return node.raw


def member_of(node):
    name = name_of(node)
    if name in RESERVED or re.fullmatch(r"rsvd_\d+", name):
        raise node.error(f"'{name}' is a reserved word of SystemVerilog, C++ or this generator")
    return name


def text(node, what="doc"):
    if not isinstance(node.raw, str) or not isinstance(node.value, str) or not node.raw.strip():
        raise node.error(f"'{what}' must be text")
    return node.raw.strip()


OPS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}


def evaluate(node, lookup):
    """Value of a constant: an integer or an expression over named constants."""
    if isinstance(node.value, int):
        return node.value
    if not isinstance(node.raw, str):
        raise node.error("'value' must be an integer or an expression")
    try:
        tree = ast.parse(node.raw.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise node.error(f"bad expression '{node.raw}'") from None

    def walk(n):
        if isinstance(n, ast.Constant) and type(n.value) is int:
            return n.value
        if isinstance(n, ast.Name):
            return lookup(node, None, n.id)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name):
            return lookup(node, n.value.id, n.attr)
        if isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub):
            return -walk(n.operand)
        if isinstance(n, ast.BinOp) and type(n.op) in OPS:
            a, b = walk(n.left), walk(n.right)
            if isinstance(n.op, (ast.Div, ast.Mod)) and b == 0:
                raise node.error(f"division by zero in '{node.raw}'")
            if isinstance(n.op, (ast.LShift, ast.RShift)) and not 0 <= b <= 64:
                raise node.error(f"shift by {b} in '{node.raw}'")
            return OPS[type(n.op)](a, b)
        raise node.error(f"bad expression '{node.raw}'")

    return walk(tree)


# ------------------------------------------------------------------------------------------------
# The model


def uint_for(bits):
    return next(w for w in (8, 16, 32, 64) if bits <= w)


class Loader:
    LISTS = ("constants", "enums", "layouts", "bundles", "registers")

    def __init__(self):
        self.errors = []
        self.names = Names()
        self.files = {}  # file name -> model
        self.const_nodes = {}  # (file, name) -> [node, order, value or None, busy]
        self.types = {}  # enum, layout and bundle names -> node
        self.enums = {}
        self.bars = {}  # (bar, address) -> (node, name)

    def each(self, body, key, func):
        out = []
        if key in body:
            try:
                items = seq(body[key], key)
            except SpecError as e:
                self.errors.append(e)
                return out
            for item in items:
                try:
                    out.append(func(item))
                except SpecError as e:
                    self.errors.append(e)
        return out

    def load(self, paths, shown_dir):
        roots = []
        for path in sorted(paths):
            shown = f"{shown_dir}/{path.name}" if shown_dir else path.name
            root = load_yaml(path, shown, self.errors)
            if root is None:
                continue
            try:
                body = obj(root, "file", ("file", "doc"), self.LISTS)
                name = name_of(body["file"], "file")
                if name != path.stem:
                    raise body["file"].error(f"'file' is '{name}' but the file is {path.name}")
                model = {"name": name, "path": shown, "doc": text(body["doc"])}
            except SpecError as e:
                self.errors.append(e)
                continue
            self.files[name] = model
            roots.append((name, body, model))

        # Constants first, and all of them declared before any is evaluated: files refer to each
        # other in both directions.
        for name, body, model in roots:
            model["constants"] = self.each(body, "constants", lambda n: self.constant(n, name))
        for model in self.files.values():
            for c in model["constants"]:
                try:
                    c["value"] = self.const_value(c["node"], model["name"], c["name"])
                    limit = c["width"] or 32
                    if not 0 <= c["value"] < 1 << limit:
                        hint = "" if c["width"] else "; give a width"
                        raise c["value_node"].error(
                            f"constant '{c['name']}' = {c['value']} does not fit {limit} bits{hint}")
                except SpecError as e:
                    self.errors.append(e)
        for _, body, model in roots:
            model["enums"] = self.each(body, "enums", self.enum)
        for _, body, model in roots:
            model["layouts"] = self.each(body, "layouts", self.layout)
            model["bundles"] = self.each(body, "bundles", self.bundle)
            model["registers"] = self.each(body, "registers", self.block)
        if self.errors:
            raise SpecErrors(self.errors)
        return list(self.files.values())

    # -- constants
    def constant(self, node, file):
        b = obj(node, "constant", ("name", "value", "doc"), ("width",))
        name = name_of(b["name"])
        key = (file, name)
        if key in self.const_nodes:
            raise b["name"].error(
                f"duplicate constant '{name}', first at line {self.const_nodes[key][0].line}")
        width = integer(b["width"], "width", 1, 64) if "width" in b else None
        doc = text(b["doc"])
        full = f"{file}_{name}"
        self.names.add(node, SystemVerilog=camel(full), C="UBL_" + full.upper(), cpp="k" + camel(full))
        self.const_nodes[key] = [b["value"], len(self.const_nodes), None, False]
        expr = b["value"].raw if not isinstance(b["value"].value, int) else None
        return {"name": name, "doc": doc, "width": width, "sv": camel(full), "expr": expr,
                "c": "UBL_" + full.upper(), "cpp": "k" + camel(full), "node": b["value"],
                "value_node": b["value"]}

    def const_value(self, user, file, name, before=None):
        entry = self.const_nodes.get((file, name))
        if entry is None or (before is not None and entry[1] >= before):
            raise user.error(f"unknown constant '{name}' (name it earlier, or as file.name)"
                             if before is not None else f"unknown constant '{file}.{name}'")
        node, order, value, busy = entry
        if value is not None:
            return value
        if busy:
            raise user.error(f"constant '{file}.{name}' depends on itself")
        entry[3] = True

        def lookup(n, other, ident):
            if other is None or other == file:
                return self.const_value(n, file, ident, before=order)
            return self.const_value(n, other, ident)

        try:
            entry[2] = evaluate(node, lookup)
        finally:
            entry[3] = False
        return entry[2]

    # -- types
    def type_name(self, node):
        name = name_of(node)
        if name in self.types:
            o = self.types[name]
            raise node.error(f"duplicate name '{name}', first at {o.path}:{o.line}")
        self.types[name] = node
        return name

    def enum(self, node):
        b = obj(node, "enum", ("name", "width", "doc", "values"))
        name = self.type_name(b["name"])
        width = integer(b["width"], "width", 1, 64)
        out = {"name": name, "width": width, "doc": text(b["doc"]), "sv": f"{name}_e",
               "cpp": camel(name), "utype": f"uint{uint_for(width)}_t", "values": []}
        self.names.add(b["name"], SystemVerilog=out["sv"], cpp=out["cpp"])
        by_name, by_value = {}, {}
        for v in seq(b["values"], "values"):
            vb = obj(v, "enum value", ("name", "value", "doc"))
            vname = name_of(vb["name"])
            value = integer(vb["value"], "value")
            if value >> width:
                raise vb["value"].error(f"value {value} of '{vname}' does not fit {width} bits")
            if vname in by_name:
                raise vb["name"].error(f"duplicate enum value '{vname}' in '{name}'")
            if value in by_value:
                raise vb["value"].error(f"'{vname}' and '{by_value[value]}' are both {value}")
            by_name[vname] = value
            by_value[value] = vname
            e = {"name": vname, "value": value, "doc": text(vb["doc"]), "sv": camel(name) + camel(vname),
                 "cpp": "k" + camel(vname), "c": f"UBL_{name.upper()}_{vname.upper()}"}
            self.names.add(vb["name"], SystemVerilog=e["sv"], C=e["c"], **{f"enum {name}": e["cpp"]})
            out["values"].append(e)
        if not out["values"]:
            raise b["values"].error(f"enum '{name}' has no values")
        self.enums[name] = out
        return out

    def layout(self, node):
        b = obj(node, "layout", ("name", "bytes", "endian", "doc", "fields"))
        name = self.type_name(b["name"])
        nbytes = integer(b["bytes"], "bytes", 1, 65536)
        endian = b["endian"].raw
        if endian not in ("little", "big"):
            raise b["endian"].error("'endian' must be little or big")
        cname = f"UBL_{name.upper()}"
        out = {"name": name, "bytes": nbytes, "endian": endian, "doc": text(b["doc"]), "sv": f"{name}_t",
               "cpp": camel(name), "c": cname, "sv_bytes": camel(name) + "Bytes", "fields": []}
        self.names.add(b["name"], SystemVerilog=[out["sv"], out["sv_bytes"]], cpp=out["cpp"],
                       C=cname + "_BYTES")
        owner = {}  # bit of the SystemVerilog vector -> field name
        seen = set()
        for f in seq(b["fields"], "fields"):
            fb = obj(f, "field", ("name", "offset", "bits", "doc"), ("lsb", "enum"))
            fname = member_of(fb["name"])
            if fname in seen:
                raise fb["name"].error(f"duplicate field '{fname}' in '{name}'")
            seen.add(fname)
            offset = integer(fb["offset"], "offset", 0)
            bits = integer(fb["bits"], "bits", 1, 64)
            lsb = integer(fb["lsb"], "lsb", 0) if "lsb" in fb else 0
            parts = []  # (byte, lsb in the byte, lsb in the field, bits)
            if endian == "little":
                at, done = 8 * offset + lsb, 0
                if at + bits > 8 * nbytes:
                    raise f.error(f"field '{fname}' ends at bit {at + bits} of {8 * nbytes} bits")
                sv_lsb = at
                while done < bits:
                    n = min(8 - (at + done) % 8, bits - done)
                    parts.append(((at + done) // 8, (at + done) % 8, done, n))
                    done += n
            elif bits < 8 or "lsb" in fb:
                if lsb + bits > 8:
                    raise f.error(f"field '{fname}' must lie inside the byte at its offset")
                if offset >= nbytes:
                    raise f.error(f"field '{fname}' lies outside {nbytes} bytes")
                parts.append((offset, lsb, 0, bits))
                sv_lsb = 8 * (nbytes - 1 - offset) + lsb
            else:
                n = bits // 8
                if bits % 8:
                    raise fb["bits"].error(f"big-endian field '{fname}' must be whole bytes")
                if offset + n > nbytes:
                    raise f.error(f"field '{fname}' ends at byte {offset + n} of {nbytes}")
                parts = [(offset + i, 0, 8 * (n - 1 - i), 8) for i in range(n)]
                sv_lsb = 8 * (nbytes - offset - n)
            for bit in range(sv_lsb, sv_lsb + bits):
                if bit in owner:
                    raise f.error(f"field '{fname}' overlaps '{owner[bit]}'")
                owner[bit] = fname
            enum = None
            if "enum" in fb:
                enum = name_of(fb["enum"], "enum")
                if enum not in self.enums:
                    raise fb["enum"].error(f"unknown enum '{enum}'")
                if self.enums[enum]["width"] > bits:
                    raise fb["enum"].error(
                        f"enum '{enum}' of {self.enums[enum]['width']} bits does not fit {bits} bits")
            cf = f"{cname}_{fname.upper()}"
            self.names.add(fb["name"], C=[cf + "_OFFSET", cf + "_LSB", cf + "_BITS"])
            out["fields"].append({
                "name": fname, "offset": offset, "lsb": lsb, "bits": bits, "enum": enum, "c": cf,
                "doc": text(fb["doc"]), "sv_lsb": sv_lsb, "parts": parts, "word": uint_for(bits),
                "utype": f"uint{uint_for(bits)}_t"})
        if not out["fields"]:
            raise b["fields"].error(f"layout '{name}' has no fields")
        out["members"] = self.members(out)
        return out

    @staticmethod
    def members(layout):
        """Members of the packed struct, most significant first, gaps filled."""
        fields = sorted(layout["fields"], key=lambda f: f["sv_lsb"])
        out, at = [], 0
        total = 8 * layout["bytes"]
        for f in fields + [None]:
            start = f["sv_lsb"] if f else total
            if start > at:
                out.append({"name": None, "bits": start - at, "doc": "reserved, zero"})
            if f:
                out.append({"name": f["name"], "bits": f["bits"], "doc": f["doc"]})
                at = start + f["bits"]
        if layout["endian"] == "big":  # numbers rise with the offset in either byte order
            out.reverse()
        number = 0
        for m in out:
            if m["name"] is None:
                m["name"] = f"rsvd_{number}"
                number += 1
        return out if layout["endian"] == "big" else out[::-1]

    def bundle(self, node):
        b = obj(node, "bundle", ("name", "doc", "fields"))
        name = self.type_name(b["name"])
        out = {"name": name, "doc": text(b["doc"]), "sv": f"{name}_t", "cpp": camel(name),
               "sv_bits": camel(name) + "Bits", "fields": []}
        self.names.add(b["name"], SystemVerilog=[out["sv"], out["sv_bits"]], cpp=out["cpp"])
        seen = set()
        for f in seq(b["fields"], "fields"):
            fb = obj(f, "field", ("name", "bits", "doc"))
            fname = member_of(fb["name"])
            if fname in seen:
                raise fb["name"].error(f"duplicate field '{fname}' in '{name}'")
            seen.add(fname)
            bits = integer(fb["bits"], "bits", 1, 65536)
            k = "k" + camel(fname)
            self.names.add(fb["name"], **{f"struct {out['cpp']}": [k + "Lsb", k + "Bits"]})
            words = (bits + 31) // 32
            out["fields"].append({
                "name": fname, "bits": bits, "doc": text(fb["doc"]), "k": k, "words": words,
                "utype": f"uint{uint_for(bits)}_t" if bits <= 64 else f"std::array<uint32_t, {words}>"})
        if not out["fields"]:
            raise b["fields"].error(f"bundle '{name}' has no fields")
        at = 0
        for f in reversed(out["fields"]):
            f["lsb"] = at
            at += f["bits"]
        out["bits"], out["words"] = at, (at + 31) // 32
        return out

    # -- registers
    def block(self, node):
        b = obj(node, "register block", ("block", "bar", "base", "doc", "regs"))
        block = name_of(b["block"], "block")
        out = {"name": block, "bar": integer(b["bar"], "bar", 0, 5),
               "base": integer(b["base"], "base", 0, 0xFFFFFFFF), "doc": text(b["doc"]), "regs": []}
        if out["base"] % 4:
            raise b["base"].error("'base' must be a multiple of 4")
        self.names.add(b["block"], **{"register block": block})
        for r in seq(b["regs"], "regs"):
            try:
                out["regs"].append(self.register(r, out))
            except SpecError as e:
                self.errors.append(e)
        return out

    def register(self, node, block):
        b = obj(node, "register", ("name", "offset", "access", "doc"),
                ("reset", "count", "stride", "fields"))
        name = name_of(b["name"])
        offset = integer(b["offset"], "offset", 0, 0xFFFFFFFF)
        if offset % 4:
            raise b["offset"].error(f"offset of '{name}' must be a multiple of 4")
        access = b["access"].raw
        if access not in ("ro", "rw", "wo", "rw1c"):
            raise b["access"].error("'access' must be ro, rw, wo or rw1c")
        if ("count" in b) != ("stride" in b):
            raise node.error(f"register '{name}': 'count' and 'stride' go together")
        reset = integer(b["reset"], "reset", 0, 0xFFFFFFFF) if "reset" in b else None
        count = integer(b["count"], "count", 1, 1 << 20) if "count" in b else None
        stride = integer(b["stride"], "stride", 4, 1 << 31) if "stride" in b else None
        if stride is not None and stride % 4:
            raise b["stride"].error("'stride' must be a multiple of 4")
        base = block["base"] + offset
        if base + ((count or 1) - 1) * (stride or 0) > 0xFFFFFFFC:
            raise node.error(f"register '{name}' lies above 4 GiB")
        full = f"{block['name']}_{name}"
        sv, cpp, c = "Reg" + camel(full), "k" + camel(full), "UBL_REG_" + full.upper()
        out = {"name": name, "offset": offset, "address": base, "access": access, "reset": reset,
               "count": count, "stride": stride, "doc": text(b["doc"]), "sv": sv, "cpp": cpp, "c": c,
               "fields": []}
        extra = [s for s, on in (("Stride", count), ("Count", count), ("Reset", reset is not None)) if on]
        self.names.add(
            b["name"], SystemVerilog=[sv] + [sv + s for s in extra],
            **{"cpp reg": [cpp] + [cpp + s for s in extra]}, C=[c] + [f"{c}_{s.upper()}" for s in extra])
        for i in range(count or 1):
            key = (block["bar"], base + i * (stride or 0))
            if key in self.bars:
                o, oname = self.bars[key]
                raise node.error(f"register '{name}' overlaps '{oname}' ({o.path}:{o.line}) at "
                                 f"BAR{key[0]} 0x{key[1]:x}")
            self.bars[key] = (node, name)
        used = {}
        for f in seq(b["fields"], "fields") if "fields" in b else []:
            fb = obj(f, "field", ("name", "lsb", "bits", "doc"))
            fname = name_of(fb["name"])
            lsb, bits = integer(fb["lsb"], "lsb", 0, 31), integer(fb["bits"], "bits", 1, 32)
            if lsb + bits > 32:
                raise f.error(f"field '{fname}' does not fit a 32-bit register")
            for bit in range(lsb, lsb + bits):
                if bit in used:
                    raise f.error(f"field '{fname}' overlaps '{used[bit]}'")
                used[bit] = fname
            fsv, fcpp, fc = sv + camel(fname), cpp + camel(fname), f"{c}_{fname.upper()}"
            self.names.add(
                fb["name"], SystemVerilog=[fsv + "Lsb", fsv + "Bits"],
                **{"cpp reg": [fcpp + s for s in ("Lsb", "Bits", "Mask")]},
                C=[fc + s for s in ("_LSB", "_BITS", "_MASK")])
            out["fields"].append({
                "name": fname, "lsb": lsb, "bits": bits, "doc": text(fb["doc"]), "sv": fsv,
                "cpp": fcpp, "c": fc, "mask": ((1 << bits) - 1) << lsb})
        return out


def load(spec_dir, shown_dir):
    spec_dir = Path(spec_dir)
    paths = list(spec_dir.glob("*.yaml"))
    if not paths:
        raise SpecErrors([SpecError(shown_dir or str(spec_dir), 0, "no *.yaml files")])
    return Loader().load(paths, shown_dir)
