"""Keep the memory of a service, which holds keys and secrets, out of core files."""

import ctypes
import resource
import sys

_SET_DUMPABLE = 4


def write_no_core_files() -> None:
    """Have the kernel write no core file of this process if it crashes, whatever the limits say.

    On Linux this also holds where core files are piped into a program, which ignores the limit. It
    also keeps other processes of the same user from reading this one's memory, root excepted.
    """
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
