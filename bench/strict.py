"""What every part of the configuration is: complete, of the right types, and never changed."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Unknown keys, other types, NaN and infinities are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
