"""Sweeps beyond the pool of this machine: jobs of submitit (local, Slurm) and tasks of Ray; see docs/cluster.md.

A sweep is planned as a whole where it is submitted. Its runs are handed over in batches, tell their outcomes through
the shared results folder, and come back to `bench.sweep` as those of the pool do.
"""
