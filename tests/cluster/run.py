"""Starts a Slurm of five nodes and a Ray of two on this machine, runs a command, and stops what it started.

    python tests/cluster/run.py [--install] COMMAND ...

The command finds the clusters through the variables SLURM_CONF, NORMBENCH_CLUSTER (the folder of the daemons) and
NORMBENCH_RAY (the address of Ray). The exit status is that of the command; UNAVAILABLE where Slurm is not installed.
Root is needed: Slurm's daemons start jobs as the user who submits them.
"""

import argparse
import contextlib
import ctypes
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
UNAVAILABLE = 77
"""Exit status where there is no Slurm and none can be installed."""
PR_SET_CHILD_SUBREAPER = 36
NODES = ("n1", "n2", "n3", "n4", "n5")
DOCS = Path(__file__).resolve().parents[2] / "docs" / "cluster.md"
PORTS = range(20000, 30000)
STARTS = 60.0
"""Seconds that daemons have to start."""
SLURM_CONF = """
ClusterName=normbench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
# A requeued job waits until the credential of its first start has expired.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_min_interval=100000,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MaxArraySize=11
KillWait=5
SlurmdTimeout=10
ReturnToService=2
# The nodes say that they have more processors than this machine: the jobs of the tests wait most of the time.
SlurmdParameters=config_overrides
{nodes}
PartitionName=short Nodes=n1,n2 Default=YES MaxTime=30 DefMemPerCPU=900 PriorityTier=1
PartitionName=apart Nodes=n3 MaxTime=30 DefMemPerCPU=900
PartitionName=frail Nodes=n4 MaxTime=30 DefMemPerCPU=900
PartitionName=low Nodes=n5 MaxTime=30 DefMemPerCPU=900 PriorityTier=1
PartitionName=urgent Nodes=n5 MaxTime=30 DefMemPerCPU=900 PriorityTier=2
"""
"""Partitions: `short`, two nodes; `apart`, whose node has a /mnt of its own, so that it does not see what is shared
there; `frail`, whose node is killed; `low`, whose jobs are preempted by those of `urgent`."""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=6 RealMemory=6000"


class Daemons:
    """Processes that are started for the clusters. All of them, and all that they start, are this process's to end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Daemons that leave their parent become children of this process, and not of the machine's first one.
        if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "this process cannot adopt the daemons that it starts")

    def start(self, name: str, *words: str, **variables: str) -> None:
        """Start a daemon that stays in the foreground; what it says goes into `name`.out."""
        with (self.folder / f"{name}.out").open("ab") as out:
            subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=os.environ | variables)

    def stop(self) -> None:
        """End every process below this one: first kindly, then at once."""
        for number, seconds in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
            deadline = time.monotonic() + seconds
            for pid in descendants():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            while descendants() and time.monotonic() < deadline:
                reap()
                time.sleep(0.1)


def reap() -> None:
    """Let go of children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def descendants() -> list[int]:
    """The living processes that come from this one."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if fields[0] not in "ZX":
                parents[int(stat.parent.name)] = int(fields[1])
    found, generation = [], {os.getpid()}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation}
        found += generation
    return found


def missing() -> list[str]:
    """The programs of Slurm that are not here."""
    return [name for name in PROGRAMS if not shutil.which(name)]


def install() -> None:
    """Install Slurm with apt, where it is missing and apt can."""
    if missing() and shutil.which("apt-get") and os.geteuid() == 0:
        quiet: dict[str, Any] = {
            "stdout": subprocess.DEVNULL,
            "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        }
        subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
        words = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
        subprocess.run(words, check=False, **quiet)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens at, and that the system gives to nobody who does not ask for them."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"there are no {count} free ports from {PORTS[0]} to {PORTS[-1]}")


def wait_for(what: str, words: Sequence[str], found: str) -> None:
    """Return when the output of the command matches `found`. Raises TimeoutError after `STARTS` seconds."""
    deadline = time.monotonic() + STARTS
    while True:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if re.search(found, done.stdout):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not start within {STARTS:.0f} s: {done.stdout}{done.stderr}")
        time.sleep(0.2)


def start_slurm(daemons: Daemons) -> None:
    """A controller and nodes, each with processors enough for the tests to share; see SLURM_CONF."""
    folder = daemons.folder
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    files = [
        f"--{name}={folder}/munge.{name.partition('-')[0]}" for name in ("socket", "pid-file", "log-file", "seed-file")
    ]
    daemons.start("munged", "munged", "--foreground", "--force", f"--key-file={key}", *files)
    (folder / "state").mkdir()
    for node in NODES:
        (folder / node).mkdir()
    conf = folder / "slurm.conf"
    host = socket.gethostname().partition(".")[0]
    port, *ports = free_ports(1 + len(NODES))
    nodes = [NODE.format(name=name, host=host, port=port) for name, port in zip(NODES, ports, strict=True)]
    conf.write_text(SLURM_CONF.format(folder=folder, host=host, port=port, nodes="\n".join(nodes)), encoding="utf-8")
    os.environ["SLURM_CONF"] = str(conf)
    daemons.start("slurmctld", "slurmctld", "-D")
    for name in NODES:
        slurmd = ["slurmd", "-D", "-N", name]
        apart = ["unshare", "--mount", "bash", "-c", 'mount -t tmpfs none /mnt && exec "$@"', "-"]
        daemons.start(name, *(apart if name == "n3" else []), *slurmd)
    words = ["sinfo", "--noheader", "--Node", "--format=%N %T"]
    wait_for("Slurm", words, "(?s)" + ".*".join(f"{name} idle" for name in NODES))


def start_ray(daemons: Daemons) -> None:
    """The two `ray start` commands of the documentation, as nodes of one processor each on ports of their own."""
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}  # whatever lies in ~/.ray
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    options = ["--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats"]
    # Ray's sockets have names of at most 107 characters.
    head = [
        f"--port={port}",
        "--node-ip-address=127.0.0.1",
        f"--temp-dir={daemons.folder}/ray",
        "--include-dashboard=false",
    ]
    lines = re.findall(r"^(ray start .*?) *(?:#.*)?$", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for line in lines:
        words = line.replace("HEAD:6379", address).split()
        more = head if "--head" in words else ["--node-ip-address=127.0.0.1"]
        program = Path(sys.executable).parent / words[0]
        done = subprocess.run([program, *words[1:], *more, *options], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{line}: {done.stdout}{done.stderr}")
    os.environ["NORMBENCH_RAY"] = address


@contextlib.contextmanager
def clusters() -> Iterator[None]:
    """Slurm and Ray, stopped at the end whatever happens."""
    folder = Path(tempfile.mkdtemp(prefix="nb-"))
    daemons = Daemons(folder)
    os.environ["NORMBENCH_CLUSTER"] = str(folder)
    try:
        start_slurm(daemons)
        start_ray(daemons)
        yield
    finally:
        # What is not ended now is ended by nobody.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        daemons.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--install", action="store_true", help="install Slurm with apt where it is missing")
    parser.add_argument(
        "--check", action="store_true", help="start nothing; only tell whether a cluster could be started"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what is run while the clusters are up")
    arguments = parser.parse_args()
    if arguments.install:
        install()
    if missing() or os.geteuid() != 0:
        lacking = f"{', '.join(missing())} not found" if missing() else "this user is not root"
        print(f"no test cluster: {lacking}; as root: apt-get install {' '.join(PACKAGES)}", file=sys.stderr)
        return UNAVAILABLE
    if arguments.check:
        return 0

    def leave(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, leave)
    try:
        with clusters():
            return subprocess.run(arguments.command, check=False).returncode
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
