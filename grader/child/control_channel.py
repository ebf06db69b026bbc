"""What a grader and a warm process that forks say to each other beside the jobs: a letter, or a few numbers.

It imports next to nothing: the grader reads it before its warm process is on its way.
"""

from __future__ import annotations

import struct

READY = b"R"  # the warm process, once
JOB = b"J"  # the grader, with two descriptors: the job, and where its reply goes
STARTED = b"P"  # the warm process, with a handle of the child; `STATUS` follows when that has ended
REFUSED = b"E"  # the warm process, where the system refuses a child: `ERROR` follows
STATUS = struct.Struct("<iii")  # a child's exit code, the signal that ended it, its processor time in milliseconds
ERROR = struct.Struct("<i")  # the number of the system's error
