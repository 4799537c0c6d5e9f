"""Signals wait while they are held, and then do what they would have done."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from ort_vitis_plugin.onnx_io.signals import Terminated, held_signals, terminable, termination_raises


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def interrupted_behind(done: list[str]) -> None:
    with held_signals():
        send(signal.SIGINT)
        done.append("all")


def interrupted_inside(done: list[str]) -> None:
    with held_signals() as held, held.released():
        send(signal.SIGINT)
        done.append("too much")


def test_an_interrupt_waits() -> None:
    done: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupted_behind(done)
    with pytest.raises(KeyboardInterrupt):
        interrupted_inside(done)
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is before


def test_holds_nest() -> None:
    done: list[str] = []

    def nested() -> None:
        with held_signals():
            interrupted_behind(done)
            done.append("outside")

    with pytest.raises(KeyboardInterrupt):
        nested()
    assert done == ["all", "outside"]


def test_the_callers_handlers_are_called() -> None:
    seen: list[Any] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with terminable(), held_signals():
            send(signal.SIGTERM)
            assert seen == []
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_termination_raises_in_its_block_alone() -> None:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    def terminated() -> None:
        with termination_raises():
            send(signal.SIGTERM)

    with pytest.raises(Terminated):
        terminated()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_other_threads_leave_handlers_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[Any] = []

    def work() -> None:
        with terminable(), held_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_who_ignores_an_interrupt_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held_signals():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            send(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_who_asked_first_for_the_end_gets_it() -> None:
    """Blocks nest: the inner one cleans up and leaves the end of the process to the outer one."""

    def terminated() -> None:
        with termination_raises(), terminable():
            send(signal.SIGTERM)

    with pytest.raises(Terminated):
        terminated()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("handled", [False, True])
def test_behind_its_block_termination_ends_the_process_unless_the_caller_handles_it(
    handled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *both: sent.append(both))

    def terminated() -> None:
        with terminable():
            raise Terminated

    before = signal.signal(signal.SIGTERM, lambda number, frame: None) if handled else None
    try:
        with pytest.raises(Terminated):
            terminated()
    finally:
        if handled:
            signal.signal(signal.SIGTERM, before)
    assert sent == ([] if handled else [(os.getpid(), signal.SIGTERM)])
