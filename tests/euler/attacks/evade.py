"""Runs inside: does all that a program can to outlast its time, in many processes; NUMBER tells them from others."""

import os
import signal
import time

NUMBER = "@NUMBER@"


def sleeper():
    os.execvp("sleep", ["sleep", NUMBER])


def deaf():
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    sleeper()


def stopped():
    if os.fork() == 0:
        sleeper()
    os.kill(0, signal.SIGSTOP)


def daemon():
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        for descriptor in range(3):
            os.close(descriptor)
        sleeper()
    os._exit(0)


def busy():
    while True:
        pass


for work in (sleeper, deaf, daemon, busy):
    if os.fork() == 0:
        work()
if os.fork() == 0:
    os.setpgid(0, 0)
    stopped()
print("started", flush=True)
if "@STAY@":
    os.close(1)
    os.close(2)
    while True:
        time.sleep(60)
time.sleep(0.2)
