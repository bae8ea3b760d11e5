"""What Weights & Biases takes as a name: names that people give are refused beyond it, names made here are shortened.

The limits are those of the wandb package (`wandb.Settings`) and, for names of runs and groups, of its server.
"""

import hashlib
from typing import Annotated

from pydantic import AfterValidator, Field

TAG = 64
NAME = 128
"""Characters of a tag; and of the name of a project, an entity, a run, a group or an artifact."""
NOT_IN_PROJECT = "/\\#?%:"
NOT_IN_ID = ":;,#?/'\\%"
DIGITS = 10
"""Hexadecimal digits of the hash that keeps shortened names apart."""


def _printable(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("must be printable text, and not blank, for W&B to take it")
    return text


def _project(text: str) -> str:
    found = "".join(sign for sign in NOT_IN_PROJECT if sign in text)
    if found:
        raise ValueError(f"must be without {' '.join(NOT_IN_PROJECT)} for W&B to take it, and has {' '.join(found)}")
    return text


Tag = Annotated[str, Field(min_length=1, max_length=TAG), AfterValidator(_printable)]
"""A word that a person gives a run."""
ProjectName = Annotated[str, Field(min_length=1, max_length=NAME), AfterValidator(_printable), AfterValidator(_project)]
"""The name of a project or an entity."""


def shortened(text: str, limit: int = NAME) -> str:
    """`text`, or where it is longer than `limit` its beginning and a hash of all of it, so that names stay apart."""
    return text if len(text) <= limit else f"{text[: limit - DIGITS - 1]}~{_hash(text)}"


def run_id(fingerprint: str) -> str:
    """The id of a run: its fingerprint, or a hash of one that has signs which an id cannot have."""
    fits = len(fingerprint) <= NAME and fingerprint == fingerprint.strip() and not set(fingerprint) & set(NOT_IN_ID)
    return fingerprint if fits else f"run-{_hash(fingerprint)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
