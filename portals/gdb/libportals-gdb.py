# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# libportals-gdb.py - what the library's types and state are, in gdb: in a living process or in a core file
#
#	(gdb) source libportals-gdb.py		(by itself, where it is installed for gdb to find: HACKING.md)
#	(gdb) ptl ni | portals | me [INDEX] | md INDEX | eq [INDEX] | peers | ops
#	(gdb) print event			handles, ids, descriptors, events, entries, queues are shown in words
#
# Only memory is read: nothing is called, no lock is taken, so a value may be one that never was. The layout of the region is
# that of p3l_layout.h; its sizes come from the program's own debugging information, the lengths of the pools are below.
import gdb
import gdb.printing

MAX_ME = MAX_MD = 65536
MAX_SLOTS = 256
MAX_EQ = 1024
MAX_LINES = 4096
OPS = 8
LINE = 64
SHOWN = 64			# entries of a list

KINDS = {1: "ni", 2: "me", 4: "md", 6: "eq"}
ANY = 0xffffffff


def num(v):
    return int(v)


def names(value, known):
    """Names of the bits of @value, of those in @known (name: bit)."""
    have = [n for n, bit in known if value & bit]
    rest = value & ~sum(bit for n, bit in known)
    return "|".join(have + ([hex(rest)] if rest else [])) or "0"


MD_FLAGS = [("USED", 1), ("UNLINK", 2), ("SPENT", 4), ("DIRECT", 8), ("PLAIN", 16), ("MADE", 32), ("GOING", 64), ("XT", 128)]
ME_FLAGS = [("USED", 1), ("UNLINK", 2), ("MADE", 4)]


def enum_name(type_name, value, strip=""):
    """Name of @value in an enum type of the library, without @strip; the number where there is none."""
    try:
        for f in gdb.lookup_type(type_name).strip_typedefs().fields():
            if f.enumval == value:
                return f.name[len(strip):] if f.name.startswith(strip) else f.name
    except gdb.error:
        pass
    return str(value)


def handle(h):
    """A handle in words: kind (3 bits), interface (3), generation (10), index (16)."""
    h = num(h)
    special = {ANY: "invalid"}
    for name in ("PTL_EQ_NONE", "PTL_HANDLE_NONE", "PTL_INVALID_HANDLE"):
        try:
            special[num(gdb.parse_and_eval(name)) & ANY] = name
        except gdb.error:
            pass
    kind = KINDS.get(h >> 29)
    if h in special or not kind:
        return special.get(h, "%#x (no handle)" % h)
    try:
        ni = gdb.parse_and_eval("p3a_table")[h >> 26 & 7]
        h ^= num(ni["base"]) & 0x03ff0000 if num(ni) else 0
    except gdb.error:
        pass
    if kind == "ni":
        return "ni %d (opening %d)" % (h >> 26 & 7, h & 0xffff)
    return "%s %d.%d of ni %d" % (kind, h & 0xffff, h >> 16 & 0x3ff, h >> 26 & 7)


def ident(nid, pid):
    return ":".join("any" if num(v) == ANY else str(num(v)) for v in (nid, pid))


def packed_eq(v):
    v = num(v)
    return "none" if not v else "eq %d.%d" % ((v & 0xffff) - 1, v >> 16)


def addr(v):
    return hex(num(v))


def threshold(v):
    v = num(v)
    return "inf" if v == -1 else str(v)


# ---- printers ----

class HandlePrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        return handle(self.val)


class IdPrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        return ident(self.val["nid"], self.val["pid"])


class MdPrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        v = self.val
        return "[%s, +%d) threshold %s max_size %d options %#x user_ptr %s eq %s" % (
            addr(v["start"]), num(v["length"]), threshold(v["threshold"]), num(v["max_size"]), num(v["options"]),
            addr(v["user_ptr"]), handle(v["eq_handle"]))


class EventPrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        v = self.val
        return ("%s from %s pt %d bits %#x rlength %d mlength %d offset %d hdr_data %#x %s link %d sequence %d fail %d" %
                (enum_name("ptl_event_kind_t", num(v["type"]), "PTL_EVENT_"),
                 ident(v["initiator"]["nid"], v["initiator"]["pid"]), num(v["pt_index"]), num(v["match_bits"]),
                 num(v["rlength"]), num(v["mlength"]), num(v["offset"]), num(v["hdr_data"]), handle(v["md_handle"]),
                 num(v["link"]), num(v["sequence"]), num(v["ni_fail_type"])))


class SlotPrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        v = self.val
        kind = num(v["kind_fail"])
        return "%s of %d pt %d bits %#x mlength %d of %d offset %d hdr_data %#x md %d threshold %s fail %d%s" % (
            "void" if kind & 15 == 15 else enum_name("ptl_event_kind_t", kind & 15, "PTL_EVENT_"), num(v["initiator"]),
            num(v["pt"]), num(v["match_bits"]), num(v["mlength"]), num(v["rlength"]), num(v["offset"]),
            num(v["hdr_data"]), num(v["md"]), threshold(v["threshold"]), kind >> 4,
            "" if num(v["word"]) & 1 or not num(v["word"]) else ", being written")


def me_words(v):
    return "pt %d bits %#x ignore %#x from %s %s%s" % (
        num(v["pt"]), num(v["match_bits"]), num(v["ignore_bits"]), ident(v["match_nid"], v["match_pid"]),
        names(num(v["flags"]), ME_FLAGS), ", md %d" % (num(v["md"]) - 1) if num(v["md"]) else ", no md")


def md_words(v):
    return "[%s, +%d) at %d threshold %s pending %d options %#x %s %s%s" % (
        addr(v["start"]), num(v["length"]), num(v["offset"]), threshold(v["threshold"]), num(v["pending"]),
        num(v["options"]), packed_eq(v["eq"]), names(num(v["flags"]), MD_FLAGS),
        ", %d pieces" % num(v["iov_n"]) if num(v["iov"]) else "")


class MePrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        return me_words(self.val)


class CoreMdPrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        return md_words(self.val)


class EqPrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        v = self.val
        if not num(v["flags"]) & 1:
            return "not in use"
        return "%d slots, %d read, %d reserved%s" % (
            1 << (num(v["log2"]) & 31), num(v["head"]), num(v["tail"]), ", events were lost" if num(v["dropped"]) else "")


class OpPrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        v = self.val
        state = enum_name("enum p3l_op_state", num(v["state"]), "P3L_OP_")
        if state == "IDLE":
            return "IDLE"
        return "%s %s of %d: md %d, %d of %d bytes at %d" % (
            state, enum_name("enum p3l_type", num(v["type"]), "P3L_"), num(v["src"]), num(v["md"]), num(v["mlength"]),
            num(v["rlength"]), num(v["moff"]))


class NiPrinter:
    def __init__(self, val):
        self.val = val

    def to_string(self):
        v = self.val
        if num(v["magic"]) != 0x50334c31:
            return "no interface (magic %#x)" % num(v["magic"])
        return "%s slot %d of %d, %s%s" % (ident(v["nid"], v["pid"]), num(v["slot"]), num(v["n_slots"]),
                                           "up" if num(v["up"]) else "down", ", asleep" if num(v["sleeping"]) else "")


def build_printers():
    p = gdb.printing.RegexpCollectionPrettyPrinter("portals")
    p.add_printer("md", "^ptl_md_t$", MdPrinter)
    p.add_printer("id", "^ptl_process_id_t$", IdPrinter)
    p.add_printer("event", "^ptl_event_t$", EventPrinter)
    p.add_printer("slot", "^p3l_slot$", SlotPrinter)
    p.add_printer("me", "^p3l_me$", MePrinter)
    p.add_printer("core md", "^p3l_md$", CoreMdPrinter)
    p.add_printer("eq", "^p3l_eq$", EqPrinter)
    p.add_printer("op", "^p3l_op$", OpPrinter)
    p.add_printer("ni", "^p3l_ni$", NiPrinter)
    return p


def handle_printer(val):
    """Handles are plain integers of another name, which the collection above does not look at."""
    if val.type.name and val.type.name.startswith("ptl_handle_"):
        return HandlePrinter(val)
    return None


# ---- the region of an interface ----

def pages(n):
    return (n + 4095) & ~4095


class Region:
    def __init__(self, ptr):
        self.ptr = ptr
        self.base = num(ptr)
        self.ni = ptr.dereference()
        size = lambda t: gdb.lookup_type("struct " + t).sizeof
        self.me_off = pages(size("p3l_ni"))
        self.md_off = self.me_off + pages(MAX_ME * size("p3l_me"))
        self.row_off = self.md_off + pages(MAX_MD * size("p3l_md"))
        self.tree_off = self.row_off + pages(MAX_SLOTS * size("p3l_row"))
        self.lane_off = self.tree_off + (2 << 20)
        if num(self.ni["magic"]) != 0x50334c31:
            raise gdb.GdbError("no interface at %#x" % self.base)

    def at(self, off, type_name, i):
        t = gdb.lookup_type("struct " + type_name)
        return gdb.Value(self.base + off + i * t.sizeof).cast(t.pointer()).dereference()

    def me(self, i):
        return self.at(self.me_off, "p3l_me", i)

    def md(self, i):
        return self.at(self.md_off, "p3l_md", i)

    def row(self, slot):
        return self.at(self.row_off, "p3l_row", slot)

    def lane(self, slot):
        t = gdb.lookup_type("struct p3l_lane_hdr")
        off = self.base + self.lane_off + slot * (t.sizeof + MAX_LINES * LINE)
        return gdb.Value(off).cast(t.pointer()).dereference()

    def line_word(self, slot, line):
        t = gdb.lookup_type("struct p3l_lane_hdr")
        mask = (num(self.ni["lane_lines"]) - 1) & (MAX_LINES - 1)
        at = num(self.lane(slot).address) + t.sizeof + (line & mask) * LINE
        return num(gdb.Value(at).cast(gdb.lookup_type("unsigned int").pointer()).dereference())

    def slots(self):
        return min(num(self.ni["n_slots"]), MAX_SLOTS)

    def slot(self, eq, ticket):
        """The event of a ticket: p3l_eq_place()."""
        q = self.ni["eq"][eq]
        t = gdb.lookup_type("struct p3l_slot")
        place = (ticket * 75) & ((1 << num(q["log2"])) - 1)
        return gdb.Value(self.base + num(q["slots"]) + place * t.sizeof).cast(t.pointer()).dereference()


def interfaces():
    try:
        table = gdb.parse_and_eval("p3a_table")
    except gdb.error:
        raise gdb.GdbError("libportals is not in this program, or has no debugging information (p3a_table)")
    found = []
    for i in range(8):
        if num(table[i]):
            found.append((table[i], Region(table[i]["l"])))
    if not found:
        raise gdb.GdbError("no interface is open")
    return found


def show(line):
    gdb.write(line + "\n")


def list_of(r, pt):
    """Indices of a match list, as far as they make sense."""
    i, seen = num(r.ni["pt"][pt]["head"]), 0
    while i and i <= MAX_ME and seen < MAX_ME:
        yield i - 1
        i, seen = num(r.me(i - 1)["next"]), seen + 1


class Ptl(gdb.Command):
    """State of libportals: ptl ni, portals, me [INDEX], md INDEX, eq [INDEX], peers, ops."""

    def __init__(self):
        super().__init__("ptl", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class PtlCommand(gdb.Command):
    def __init__(self):
        super().__init__("ptl " + self.name, gdb.COMMAND_DATA)

    def invoke(self, arg, tty):
        args = [num(gdb.parse_and_eval(a)) for a in gdb.string_to_argv(arg)]
        for ni, r in interfaces():
            self.run(ni, r, args)


class PtlNi(PtlCommand):
    """Interfaces of this process: id, NAL, what is in use."""
    name = "ni"

    def run(self, ni, r, args):
        l = r.ni
        show("ni %d: %s, by %s" % (num(ni["index"]), NiPrinter(l).to_string(), ni["nal"]["name"].string()))
        show("  entries %d of %d, descriptors %d of %d, queues %d of %d, portals 0-%d" % (
            sum(num(l["pt"][i]["len"]) for i in range(num(l["max_pt"]) + 1)), num(l["max_me"]),
            sum(num(r.md(i)["flags"]) & 1 for i in range(min(num(l["md_fresh"]), MAX_MD))), num(l["max_md"]),
            sum(1 for i in range(MAX_EQ) if num(l["eq"][i]["flags"]) & 1), num(l["max_eq"]), num(l["max_pt"])))
        total = dict((f, sum(num(r.row(s)["stats"][f]) for s in range(r.slots())))
                     for f in ("drop_count", "recv_count", "send_count", "flush_count", "corrupt"))
        lanes = [r.lane(s) for s in range(r.slots())]
        hot = sum(num(x["hot_count"]) for x in lanes)
        total["inbox"] = hot + sum(num(x["long_count"]) for x in lanes) + total["flush_count"]
        total["recv_count"] += hot
        others = (r.row(s)["stats"] for s in range(r.slots()) if s != num(l["slot"]))
        total["direct"] = sum(num(x["recv_count"]) - num(x["flush_count"]) for x in others)
        show("  sent %(send_count)d, received %(recv_count)d (inbox %(inbox)d, direct %(direct)d), dropped "
             "%(drop_count)d, corrupt %(corrupt)d" % total)


class PtlPortals(PtlCommand):
    """Portal table entries that have a match list, with its entries: ptl portals [INDEX]."""
    name = "portals"

    def run(self, ni, r, args):
        l = r.ni
        for pt in args or range(num(l["max_pt"]) + 1):
            e = l["pt"][pt]
            if not num(e["head"]) and not num(e["lock"]) and not args:
                continue
            polled = num(l["polled"][pt >> 6]) >> (pt & 63) & 1
            lock = num(e["lock"])
            show("portal %d: %d entries (%d at most)%s%s%s" % (
                pt, num(e["len"]), num(e["longest"]), ", polled" if polled else "",
                ", locked by slot %d" % (lock - 1) if lock else "", ", indexed" if num(e["index_log2"]) else ""))
            for n, i in enumerate(list_of(r, pt)):
                if n == SHOWN:
                    show("  ...")
                    break
                show("  me %d.%d: %s" % (i, num(r.me(i)["gen"]) & 0x3ff, me_words(r.me(i))))
                md = num(r.me(i)["md"])
                if 0 < md <= MAX_MD:
                    show("    md %d.%d: %s" % (md - 1, num(r.md(md - 1)["gen"]) & 0x3ff, md_words(r.md(md - 1))))


class PtlMe(PtlCommand):
    """A match entry by its index (or handle), with its descriptor; without one, all that are in use."""
    name = "me"

    def run(self, ni, r, args):
        for i in [a & 0xffff for a in args] or [i for pt in range(num(r.ni["max_pt"]) + 1) for i in list_of(r, pt)]:
            show("me %d.%d: %s" % (i, num(r.me(i)["gen"]) & 0x3ff, me_words(r.me(i))))
            md = num(r.me(i)["md"])
            if 0 < md <= MAX_MD:
                show("  md %d.%d: %s" % (md - 1, num(r.md(md - 1)["gen"]) & 0x3ff, md_words(r.md(md - 1))))


class PtlMd(PtlCommand):
    """A descriptor by its index (or handle)."""
    name = "md"

    def run(self, ni, r, args):
        if not args:
            raise gdb.GdbError("ptl md INDEX")
        for i in [a & 0xffff for a in args]:
            show("md %d.%d: %s" % (i, num(r.md(i)["gen"]) & 0x3ff, md_words(r.md(i))))


class PtlEq(PtlCommand):
    """Event queues, and the events in them that have not been fetched; of one queue: ptl eq INDEX."""
    name = "eq"

    def run(self, ni, r, args):
        for i in [a & 0xffff for a in args] or range(MAX_EQ):
            q = r.ni["eq"][i]
            if not num(q["flags"]) & 1 and not args:
                continue
            show("eq %d.%d: %s" % (i, num(q["gen"]) & 0x3ff, EqPrinter(q).to_string()))
            head, tail = num(q["head"]), num(q["tail"])
            waiting = (tail - head) & ANY
            for n in range(min(waiting, SHOWN, 1 << (num(q["log2"]) & 31))):
                t = (head + n) & ANY
                s = r.slot(i, t)
                if num(s["word"]) != (t << 1 | 1) & ANY:
                    show("  %d: reserved, not written yet" % t)
                else:
                    show("  %d: %s" % (t, SlotPrinter(s).to_string()))
            if waiting > SHOWN:
                show("  ...")


class PtlPeers(PtlCommand):
    """The other processes of the node: what they have sent here and we there, inboxes, whether they are asleep."""
    name = "peers"

    def run(self, ni, r, args):
        for s in range(min(num(ni["n_peers"]), MAX_SLOTS)):
            p = ni["peer"][s]
            try:
                words = ["id %s" % ident(r.ni["nid"], ni["pids"][s])]
            except gdb.MemoryError:
                words = ["id not in this core"]	# they stand in the first rank's memory
            if s == num(r.ni["slot"]):
                words.append("this process")
            elif num(p["l"]):
                try:
                    theirs = p["l"].dereference()
                    words.append("region at %#x%s%s" % (num(p["l"]), "" if num(theirs["up"]) else ", down",
                                                        ", asleep" if num(theirs["sleeping"]) else ""))
                except gdb.MemoryError:
                    words.append("region at %#x (not in this core)" % num(p["l"]))
                words.append("we have left it %d lines%s" % (num(p["tx"]["tail"]), ", it polls" if num(p["polls"]) else ""))
            else:
                words.append("not attached")
            if num(r.ni["lanes_used"][s >> 6]) >> (s & 63) & 1:
                lane = r.lane(s)
                head = num(lane["head"])
                full = r.line_word(s, head) == (1 << 30 | head & 0x3fffffff)
                words.append("its inbox here is at line %d%s%s" % (head, ", a message waits" if full else ", empty",
                                                                   ", locked" if num(lane["lock"]) else ""))
            st = r.row(s)["stats"]
            if num(st["recv_count"]) or num(st["drop_count"]):
                words.append("took %d, dropped %d here" % (num(st["recv_count"]), num(st["drop_count"])))
            show("slot %d: %s" % (s, "; ".join(words)))


class PtlOps(PtlCommand):
    """Operations in progress in this process's interface, by whoever moves them."""
    name = "ops"

    def run(self, ni, r, args):
        for s in range(r.slots()):
            for k in range(OPS):
                op = r.row(s)["op"][k]
                if num(op["state"]):
                    show("slot %d, record %d: %s" % (s, k, OpPrinter(op).to_string()))


gdb.printing.register_pretty_printer(None, build_printers(), replace=True)
gdb.pretty_printers.append(handle_printer)
Ptl()
for command in (PtlNi, PtlPortals, PtlMe, PtlMd, PtlEq, PtlPeers, PtlOps):
    command()
