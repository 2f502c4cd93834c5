"""Runs inside, on x86-64: turns the sandbox's first process into one that does not end with bubblewrap."""

import os
import time
from pathlib import Path

# prctl(PR_SET_PDEATHSIG, 0), then pause() for ever.
CODE = bytes.fromhex("b89d000000bf0100000031f60f05b8220000000f05ebf7")

pointer = int(Path("/proc/1/syscall").read_text().split()[-1], 16)
with open("/proc/1/mem", "r+b", buffering=0) as memory:
    memory.seek(pointer)
    memory.write(CODE)
if os.fork() == 0:  # both lose their parent, and the end of the first wakes the first process, which waits for children
    if os.fork() == 0:
        time.sleep(0.1)
        os._exit(0)
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "@NUMBER@"])
    os._exit(0)
os.wait()
time.sleep(0.3)
paused = Path("/proc/1/syscall").read_text().startswith("34 ")
print("taken over" if paused else "not taken over", flush=True)
time.sleep(60)
