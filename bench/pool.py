"""Worker processes, one run each at a time. A worker that dies costs its own run and is replaced."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from bench import console, interrupts
from bench.plan import Job
from bench.work import Outcome, carry_out, write_lost

LISTEN_SECONDS = 1.0
"""How often a sweep looks whether an interrupt got lost."""
STOP_SECONDS = 15.0
"""How long interrupted workers have to write what they know."""


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    job: Job


def in_this_process(jobs: Sequence[Job]) -> Iterator[tuple[Job, Outcome, list[str]]]:
    """Each job with its outcome, one after the other, without workers: the same results, and a debugger can follow."""
    for number, job in enumerate(jobs):
        yield job, carry_out(job, wait=True), [job.label for job in jobs[number + 1 : number + 2]]


def in_workers(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Outcome, list[str]]]:
    """Each job with its outcome as it ends, and the labels of those running; jobs start in the order given.

    Closing the iterator, or an interrupt, stops the workers and lets each record its run as interrupted.
    """
    context = multiprocessing.get_context("spawn")
    queue = deque((job, False) for job in jobs)
    running: list[_Worker] = []
    idle: list[tuple[SpawnProcess, Connection]] = []
    try:
        while queue or running:
            while queue and len(running) < workers:
                job, waiting = queue.popleft()
                process, pipe = idle.pop() if idle else _start(context)
                try:
                    pipe.send((job, waiting))
                except OSError:  # it died while it had nothing to do
                    queue.appendleft((job, waiting))
                    continue
                running.append(_Worker(process, pipe, job))
            watched = [part for worker in running for part in (worker.pipe, worker.process.sentinel)]
            ready = wait(watched, timeout=LISTEN_SECONDS)
            interrupts.check()
            for worker in [w for w in running if w.pipe in ready or w.process.sentinel in ready]:
                running.remove(worker)
                outcome = _receive(worker)
                if worker.process.is_alive():
                    idle.append((worker.process, worker.pipe))
                if outcome.status == "busy":
                    queue.append((worker.job, True))  # the others first; then wait for whoever is at it
                    continue
                yield worker.job, outcome, [w.job.label for w in running] + [job.label for job, _ in queue][:1]
    finally:
        _stop([(worker.process, worker.pipe) for worker in running], idle)


def _receive(worker: _Worker) -> Outcome:
    try:
        outcome: Outcome = worker.pipe.recv()
        return outcome
    except (EOFError, OSError):
        worker.process.join()
        code = worker.process.exitcode
        cause = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        hint = " (killed, perhaps for want of memory: try fewer workers with parallel=)" if code == -9 else ""
        return write_lost(worker.job, f"the worker process died with {cause}{hint}")


def _start(context: Any) -> tuple[SpawnProcess, Connection]:
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()  # so that a dead worker shows as the end of the pipe
    return process, ours


def _stop(busy: list[tuple[SpawnProcess, Connection]], idle: list[tuple[SpawnProcess, Connection]]) -> None:
    for process, _ in busy:
        process.terminate()
    for _, pipe in busy + idle:
        pipe.close()
    for process, _ in busy + idle:
        process.join(STOP_SECONDS)
        if process.is_alive():
            process.kill()


def _work(pipe: Connection) -> None:
    """A worker's life: jobs come in, outcomes go out, until the pipe closes."""
    console.make_tolerant()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent decides
    interrupts.listen(signal.SIGTERM)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            job, waiting = pipe.recv()
            pipe.send(carry_out(job, wait=waiting))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)  # a killed sweep leaves no worker behind; records are written whole or not at all
