"""`python -m normalizers.native` builds the kernels where they are not built yet and says which are used."""

from .build import variant

print(f"kernels: {variant()}")
