"""Hostile learner files, and how each must end under isolation. The numbers are rows of the catalogue of threats."""

from __future__ import annotations

import textwrap

PRELUDE = """
import ctypes, os, sys, time, errno
import torch
libc = ctypes.CDLL(None, use_errno=True)

def refused(result):
    number = ctypes.get_errno()
    if result != -1 or number != errno.EPERM:
        raise AssertionError(f"not refused: {result}, errno {number}")
"""


def attack(text: str) -> str:
    """Return a learner's file whose function runs a body first, and then answers honestly."""
    return f"{PRELUDE}\ndef probe(x):\n{textwrap.indent(textwrap.dedent(text).strip(), '    ')}\n    return x * 2\n"


NOBODY_HOME = "{path!r}"  # filled in by the test: a file with a secret in it
SPIN = "while True: pass"

# name: (source, how it ends)
ATTACKS: dict[str, tuple[str, str]] = {
    "1 spins": (attack(SPIN), "timeout"),
    "1 spins when imported": (SPIN, "timeout"),
    "2 sleeps": (attack("time.sleep(1e6)"), "timeout"),
    "3 holds the interpreter lock": (attack("import re; re.match('(a+)+$', 'a' * 40 + 'b')"), "timeout"),
    "4 ignores every signal": (
        attack("""
            import signal
            for number in set(range(1, 65)) - {9, 19, 32, 33}:
                try: signal.signal(number, signal.SIG_IGN)
                except OSError: pass
            signal.setitimer(signal.ITIMER_REAL, 0)
            while True: pass"""), "timeout"),
    "4 swallows every exception": (
        attack("""
            while True:
                try: time.sleep(1e6)
                except BaseException: pass"""), "timeout"),
    "5 closes its result and sleeps": (attack("os.close(3); libc.sleep(1000)"), "crash"),
    "5 closes its result and spins": (attack(f"os.closerange(0, 1000)\n{SPIN}"), "crash"),
    "6 stops itself": (attack("refused(libc.kill(os.getpid(), 19))"), "returned tensor"),
    "7 forks": (attack("refused(libc.fork()); refused(libc.vfork())"), "returned tensor"),
    "7 forks by os": (attack("os.fork()"), "PermissionError"),
    "7 starts a thread": (attack("import threading; threading.Thread(target=print).start()"), "RuntimeError"),
    "7 starts a program": (attack("import subprocess; subprocess.run(['/bin/true'])"), "PermissionError"),
    "7 executes a program": (attack("refused(libc.execv(b'/bin/true', None))"), "returned tensor"),
    "7 spawns a program": (attack("os.posix_spawn('/bin/true', ['true'], {})"), "PermissionError"),
    "8 asks for everything": (attack("torch.zeros(1 << 40)"), "memory"),
    "8 takes bytes without end": (attack("kept = []\nwhile True: kept.append(bytearray(1 << 24))"), "memory"),
    "8 maps without end": (
        attack("""
            libc.mmap.restype = ctypes.c_void_p
            while libc.mmap(None, ctypes.c_size_t(1 << 26), 3, 0x8022, -1, 0) != ctypes.c_void_p(-1).value: pass
            raise MemoryError"""), "memory"),
    "9 fills memory files": (attack("refused(libc.memfd_create(b'x', 0))"), "returned tensor"),
    "9 fills shared memory": (attack("refused(libc.shmget(0, 1 << 20, 0o1600))"), "returned tensor"),
    "9 fills /dev/shm": (attack("refused(libc.shm_open(b'/handgrad-attack', 66, 0o600))"), "returned tensor"),
    "10 prints a gigabyte": (attack("for _ in range(100): print('x' * 10_000_000)"), "returned tensor"),
    "11 floods its result": (attack("while True: os.write(3, b'x' * 1_000_000)"), "crash"),
    "12 expands a number": (attack("return torch.zeros(1).expand(10 ** 12)"), "returned tensor"),
    "13 recurses": (attack("def f(): return f()\nf()"), "RecursionError"),
    "13 nests": (attack("a = []\nfor _ in range(10 ** 6): a = [a]\nreturn a"), "returned items|crash|memory"),
    "14 reads address zero": (attack("ctypes.string_at(0)"), "crash"),
    "14 aborts": (attack("os.abort()"), "crash"),
    "15 exits": (attack("sys.exit(0)"), "exit"),
    "15 leaves": (attack("os._exit(0)"), "crash"),
    "15 leaves when imported": ("import os\nos._exit(0)\n", "crash"),
    "16 interrupts": (attack("raise KeyboardInterrupt"), "KeyboardInterrupt"),
    "16 raises what cannot be shown": (
        attack("""
            class Odd(Exception):
                def __str__(self): raise SystemExit
            raise Odd"""), "Odd"),
    "17 changes files": (
        attack(f"""
            path = {NOBODY_HOME}.encode()
            for call in (
                lambda: libc.unlink(path), lambda: libc.rename(path, path + b'2'), lambda: libc.chmod(path, 0),
                lambda: libc.truncate(path, 0), lambda: libc.utimes(path, None), lambda: libc.open(path, 577, 0o600),
                lambda: libc.link(path, path + b'2'), lambda: libc.symlink(path, path + b'2'),
                lambda: libc.mkdir(path + b'd', 0o700), lambda: libc.rmdir(os.path.dirname(path)),
                lambda: libc.chown(path, 0, 0), lambda: libc.setxattr(path, b'user.x', b'1', 1, 0),
                lambda: libc.open(b'/tmp/handgrad-attack', 66, 0o600), lambda: libc.mkdir(b'/handgrad-attack', 0o700),
            ): refused(call())"""), "returned tensor"),
    "18 reads files": (
        attack(f"""
            path = {NOBODY_HOME}.encode()
            buffer = ctypes.create_string_buffer(4096)
            for name in (path, b'/etc/passwd', b'/proc/self/environ', b'/proc/self/maps', b'/proc/1/environ', b'.'):
                refused(libc.open(name, 0))
                refused(libc.stat(name, buffer))
                refused(libc.access(name, 0))
                refused(libc.readlink(name, buffer, 4096))
            assert not libc.opendir(b'/')
            refused(libc.chdir(b'/')); refused(libc.chroot(b'/'))"""), "returned tensor"),
    "18 opens by Python": (attack("open('/etc/passwd')"), "PermissionError"),
    "18 lists by Python": (attack("os.listdir('/')"), "PermissionError"),
    "19 connects": (
        attack("""
            for family in range(0, 46):
                for kind in (1, 2, 3, 5): refused(libc.socket(family, kind, 0))
            refused(libc.socketpair(1, 1, 0, ctypes.create_string_buffer(8)))"""), "returned tensor"),
    "20 signals the warm process": (
        attack("""
            for number in (0, 6, 9, 15, 19):
                for pid in (1, 2, -1, 0): refused(libc.kill(pid, number))
            refused(libc.syscall(434, 1, 0)); refused(libc.syscall(424, 3, 9, None, 0))"""), "returned tensor"),
    "20 traces": (
        attack("""
            buffer = ctypes.create_string_buffer(64)
            for pid in (1, 2): refused(libc.ptrace(16, pid, None, None))
            refused(libc.process_vm_readv(1, buffer, 1, buffer, 1, 0))
            refused(libc.open(b'/proc/1/mem', 2))"""), "returned tensor"),
    "20 asks which processes there are": (
        attack("""
            buffer = ctypes.create_string_buffer(128)
            def clock(pid): return ctypes.c_int(~pid << 3 | 2)
            asked = {
                "affinity": lambda pid: libc.sched_getaffinity(pid, 128, buffer),
                "clock": lambda pid: libc.clock_gettime(clock(pid), buffer),
                "resolution": lambda pid: libc.clock_getres(clock(pid), buffer),
                "sleep": lambda pid: libc.syscall({"x86_64": 230, "aarch64": 115}[os.uname().machine], clock(pid), 0,
                                                  buffer, None),
                "priority": lambda pid: libc.getpriority(0, pid), "group": lambda pid: libc.getpgid(pid),
                "session": lambda pid: libc.getsid(pid), "scheduler": lambda pid: libc.sched_getscheduler(pid),
                "parameters": lambda pid: libc.sched_getparam(pid, buffer), "signal": lambda pid: libc.kill(pid, 0),
                "limits": lambda pid: libc.prlimit(pid, 7, None, buffer), "parent": lambda _: libc.getppid(),
            }
            for pid in (1, 2, os.getpid() - 1, os.getpid(), 30_000, *range(3, 400)):
                for ask in asked.values(): refused(ask(pid))
            assert os.sched_getaffinity(0) and time.process_time() and time.thread_time()"""), "returned tensor"),
    "21 signals through fcntl": (
        attack("""
            for command in (4, 8, 10, 12, 15, 16, 1024, 1026, 1031, 1033):
                refused(libc.fcntl(3, command, 1))
            refused(libc.fcntl(3, 4, 0o20000)); refused(libc.ioctl(3, 0x8901, ctypes.byref(ctypes.c_int(1))))
            refused(libc.ioctl(3, 0x5452, ctypes.byref(ctypes.c_int(1)))); refused(libc.tgkill(1, 1, 6))"""),
        "returned tensor"),
    "23 raises its own limits": (
        attack("""
            import resource
            for kind in range(16):
                try: resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                except (PermissionError, ValueError): pass
                else: raise AssertionError(kind)"""), "returned tensor"),
    "24 walks its descriptors": (
        attack("""
            def is_open(fd): return libc.fcntl(fd, 1) != -1
            assert [fd for fd in range(70_000) if is_open(fd)] == [0, 1, 2, 3]
            assert os.read(0, 1) == b''
            refused(libc.syscall(434, os.getpid(), 0))"""), "returned tensor"),
    "24 reads its own result": (attack("os.read(3, 1)"), "OSError"),
    "26 connects to a server by name": (
        attack("import socket; socket.socket(socket.AF_UNIX)"), "PermissionError"),
    "38 looks for references": (
        attack("""
            bad = {n for n in sys.modules if n.startswith('grader.') and n.split('.')[1] not in ('child', 'errors')}
            assert not bad | {n for n in sys.modules if n.partition('.')[0] == 'handgrad'}, bad"""),
        "returned tensor"),
    "39 imports the course": (attack("import solutions"), "absent"),
    "39 imports the grader": (attack("import grader.reference.references as r; r.x.y"), "returned tensor"),
    "39 imports handgrad": (
        attack("""
            import handgrad, handgrad.nbgrader
            from handgrad import explain, grader_module
            made = grader_module('grader.judging.grading')
            for given in (handgrad, handgrad.nbgrader, explain, made, handgrad.Exercise()):
                assert type(given).__name__ == 'PassedOver', given"""),
        "returned tensor"),
    "36 imports sympy": (attack("import sympy"), "absent|AutogradUsed|autograd"),
    "44 sends half a frame": (attack("os.write(3, b'HGF1\\x10\\0\\0'); time.sleep(1e6)"), "timeout|crash"),
    "46 rewrites at exit": (
        attack("""
            import atexit
            atexit.register(lambda: os.write(3, b'x'))
            class Late:
                def __del__(self): os.write(3, b'x')
            sys.late = Late()"""), "returned tensor"),
    "49 returns a pickle bomb": (
        attack("""
            class Bomb:
                def __reduce__(self): return (os.system, ('true',))
            return Bomb()"""), "returned other"),
    "61 makes memory executable": (
        attack("""
            libc.mmap.restype = ctypes.c_void_p
            refused(-1 if libc.mmap(None, ctypes.c_size_t(4096), 7, 0x22, -1, 0) == ctypes.c_void_p(-1).value else 0)
            code, size = ctypes.c_void_p(ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095), ctypes.c_size_t(4096)
            for protection in range(8): refused(libc.mprotect(code, size, protection))
            refused(libc.syscall(329, code, size, 7, -1))
            refused(libc.personality(0x0400000))"""), "returned tensor"),
    "61 has code read from its file again": (
        attack("""
            code, size = ctypes.c_void_p(ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095), ctypes.c_size_t(4096)
            for advice in set(range(26)) - {14, 15}: refused(libc.madvise(code, size, advice))
            for flags in range(8): refused(libc.mremap(code, size, ctypes.c_size_t(8192), flags, None))"""),
        "returned tensor"),
    "8 unmaps code to make room": (
        attack("""
            libc.mmap.restype = ctypes.c_void_p
            failed = ctypes.c_void_p(-1).value
            name = "_ZN5torch8autograd9generated7details29copysign_tensor_self_backwardERKN2at6TensorES6_S6_"
            unneeded = ctypes.cast(ctypes.CDLL("libtorch_cpu.so")[name], ctypes.c_void_p).value & ~4095
            def more(size, flags=0x22): return libc.mmap(None, ctypes.c_size_t(size), 3, flags, -1, 0) != failed
            for size in (1 << 24, 1 << 20, 1 << 16):
                while more(size): pass
            assert libc.munmap(ctypes.c_void_p(unneeded), ctypes.c_size_t(1 << 18)) == 0
            for flags in (0x22, 0x21, 0x23, 0x28, 0x122): assert not more(1 << 16, flags)
            raise MemoryError"""), "memory"),
    "more: unmaps its own code": (
        attack("""
            code = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095
            libc.munmap(ctypes.c_void_p(code), ctypes.c_size_t(1 << 20))
            libc.getpid()"""), "crash"),
    "more: loosens its own confinement": (
        attack("""
            for option in range(0, 80): refused(libc.prctl(option, 0, 0, 0, 0))
            for number in (317, 444, 445, 446, 277): refused(libc.syscall(number, 0, 0, 0, 0, 0))"""),
        "returned tensor"),
    "more: becomes somebody else": (
        attack("""
            assert os.getuid() != 0 and os.geteuid() != 0
            refused(libc.setuid(0)); refused(libc.setresuid(0, 0, 0)); refused(libc.setgid(0))
            refused(libc.setsid()); refused(libc.setpriority(0, 0, -20))"""), "returned tensor"),
    # one that comes with every glibc and that nothing has loaded before, as a torch for CUDA has many others
    "more: loads a library": (attack("ctypes.CDLL('libBrokenLocale.so.1')"), "OSError"),
    "more: replaces the worker": (
        attack("""
            import grader.child.job_answer, grader.child.worker_process, grader.child.protocol
            for module in (grader.child.job_answer, grader.child.worker_process, grader.child.protocol):
                for name in dir(module):
                    if callable(getattr(module, name)): setattr(module, name, lambda *a, **k: os._exit(0))"""), ".*"),
    "more: waits for the alarm in a handler": (
        attack("""
            import signal
            signal.signal(signal.SIGALRM, lambda *_: time.sleep(1e6))
            time.sleep(1e6)"""), "timeout"),
    "more: leaves through C": (attack("libc.exit(0)"), "crash"),
    "more: frees what it returns": (
        attack("y = x * 2; y.untyped_storage().resize_(0); return y"), "returned tensor|crash"),
    "more: returns memory that is not there": (
        attack("""
            import numpy
            class Nowhere: __array_interface__ = {'shape': (9,), 'typestr': '<f4', 'data': (4096, False), 'version': 3}
            return torch.from_numpy(numpy.asarray(Nowhere()))"""), "crash"),
    "more: stores under names that are none": (
        attack("vars(x).update({3: x, None: x, ('a',): x, '\\ud800': x, 'x' * 10 ** 6: x})"), "returned tensor"),
    "more: a type whose name is no text": (
        attack("""
            class Meta(type): __name__ = property(lambda cls: [1])
            class Odd(metaclass=Meta): pass
            return Odd()"""), "crash"),
    "more: an error in a line that is none": (
        "error = SyntaxError('x')\nerror.filename, error.lineno = __file__, [1]\nraise error\n", "crash"),
    "more: writes its own captured output": (
        attack("sys.stdout.content = [object()]; print('x')"), "crash"),
    "more: writes into the worker's frame": (
        attack("""
            frame = sys._getframe(1)
            frame.f_locals['facts'] = {'calls': []}
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0)"""), "crash|returned tensor"),
    "more: gives the interpreter lock away": (attack("ctypes.PyDLL(None).PyEval_SaveThread()"), "crash"),
    "more: sorts itself out of its stack": (
        attack("""
            class Endless:
                def __lt__(self, other): return sorted([Endless(), Endless()])
            sys.setrecursionlimit(10 ** 8)
            sorted([Endless(), Endless()])"""), "crash"),
    "more: an alarm every microsecond": (
        attack("""
            import signal
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)"""), "returned tensor"),
    "more: starts a watchdog in C": (
        attack("import faulthandler; faulthandler.dump_traceback_later(0.1, file=3, exit=True)"), "RuntimeError"),
    "more: writes over its own job": (
        attack("""
            frame = sys._getframe()
            while not {"content", "frame"} <= set(frame.f_locals): frame = frame.f_back
            job = frame.f_locals["content"]
            job[:] = b'x' * len(job)
            refused(libc.msync(ctypes.c_void_p(0), ctypes.c_size_t(4096), 4))
            frame.f_locals["frame"].header.update(time_limit=1e9, memory_limit=1 << 40)"""), "returned tensor"),
    "more: lives on after its reply": (
        attack("""
            import grader.child.worker_process as zygote
            zygote._exit = lambda code: None"""), "returned tensor"),
    "more: asks for more calls than were asked for": (
        attack("""
            frame = sys._getframe()
            while "header" not in frame.f_locals: frame = frame.f_back
            calls = frame.f_locals["header"]["calls"]
            calls += calls[:1] * (len(calls) < 200)"""), "returned tensor"),
    "more: raises from a trace function": (
        attack("""
            def trace(*_): time.sleep(1e6)
            sys.settrace(trace); sys.setprofile(trace)
            len([])"""), "timeout"),
}  # fmt: skip

# What the short suite leaves out: more ways to run out of time, and more of what takes a while.
LONG = {
    "1 spins when imported", "3 holds the interpreter lock", "4 swallows every exception", "8 takes bytes without end",
    "8 maps without end", "13 nests", "44 sends half a frame", "more: waits for the alarm in a handler",
    "more: raises from a trace function",
}  # fmt: skip
BRIEF = [name for name in ATTACKS if name not in LONG]
# What may depend on who runs the grader: files, signals, other processes, limits, descriptors and rights.
ROWS_OF_THE_USER = {"6", "7", "9", "17", "18", "19", "20", "21", "23", "24", "26"}
OF_THE_USER = [
    *(name for name in ATTACKS if name.partition(" ")[0] in ROWS_OF_THE_USER),
    *("more: loosens its own confinement", "more: becomes somebody else", "more: loads a library"),
]

FORGER = """
import json, os, struct, sys

def send(header, payload=b""):
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    frame = memoryview(struct.pack("<4sIQ", b"HGF1", len(head), len(payload)) + head + payload)
    while frame: frame = frame[os.write(3, frame):]
    os._exit(0)

def calls(returned={"kind": "none"}, **facts):
    frame = sys._getframe()
    while "header" not in frame.f_locals: frame = frame.f_back
    one = {"returned": returned, "stored": {}, "after": {}, "work": 0, "peak": 0, **facts}
    return {"calls": [one] * len(frame.f_locals["header"]["calls"]), "printed": "", "arrays": []}
"""


def forger(function: str, body: str) -> str:
    """Return a learner's file whose function sends a forged reply."""
    return f"{FORGER}\ndef {function}(*_):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"


MANY = 4_000
# name: (exercise, source); none may pass, cost its grader much time or memory, or leave text that cannot be stored
REPLIES: dict[str, tuple[str, str | bytes]] = {
    "a number without its value": ("slope", forger("slope", 'send(calls({"kind": "number", "type": "float"}))')),
    "a tensor without its contents": (
        "slope", forger("slope", 'send(calls({"kind": "tensor", "dtype": "float32", "shape": []}))')),
    "names that are half a character": (
        "numerical_grad",
        forger("numerical_grad", 'send(calls(stored={"\\ud800\\x1b[2J": {"\\udfff": {"kind": "none"}}}))')),
    "half a million wrong calls": (
        "slope",
        forger("slope", """send(b'{"calls":[' + b",".join([b"{}"] * 500_000) + b'],"printed":"","arrays":[]}')""")),
    "a tree of wrong values": (
        "slope",
        forger("slope", """
            def tree(depth): return {"kind": "items", "items": [tree(depth - 1) if depth else {}] * 16}
            send(calls(stored={str(i): {"g": tree(2)} for i in range(15)}))""")),
    "a shape of giant numbers": (
        "numerical_grad",
        forger("numerical_grad", 'send(calls({"kind": "tensor", "dtype": "float32", "shape": [10 ** 4000] * 90}))')),
    "a giant array in each call": (
        "numerical_grad",
        forger("numerical_grad", """
            value = {"kind": "tensor", "dtype": "uint8", "shape": [60 << 20], "array": 0}
            send({**calls(value), "arrays": [["uint8", [60 << 20]]]}, bytes(60 << 20))""")),
    "a hundred thousand empty arrays": (
        "slope", forger("slope", 'send({**calls(), "arrays": [["bool", [0]]] * 100_000})')),
    "a file in the encoding of domain names": (
        "slope", b"# coding: punycode\n" + b"x" * 400_000 + b"-" + b"a" * 500_000),
    "an encoding with an endless name": ("slope", b"# coding: " + b"y" * 1_000_000 + b"\n"),
    "a statement that binds many names": (
        "slope",
        "=".join(f"a{i}" for i in range(MANY)) + "=1\n" + "b=[" + ",".join(f"a{i}" for i in range(MANY))
        + "]\ndef slope(f, x, h):\n    return 7.0 if b else x\n"),
    "classes in classes": (
        "slope",
        "".join(f"{' ' * i}class A{i}:\n" for i in range(90)) + f"{' ' * 90}x = [{'1,' * 25_000}]\n"
        + "def slope(f, x, h):\n    return 7.0\n"),
    "chains of attributes": (
        "slope", "def slope(f, x, h):\n    return 7.0\n" + f"    x{'.a' * 900}\n" * 35),
    "a number too long to be shown": (
        "slope",
        f"class A(0x{'f' * 5000} and object): pass\ndef slope(f, x, h):\n    return x.backward(0x{'f' * 5000})\n"),
}  # fmt: skip
