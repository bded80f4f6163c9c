"""What all sections of a config share: how strict they are, and kinds of values that several have."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

LARGEST = 10**12
"""What no number of any option exceeds: beyond, arithmetic with it overflows somewhere."""


class Section(BaseModel):
    """One section of a config file: frozen, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @field_validator("*")
    @classmethod
    def _within_reach(cls, value: object) -> object:
        if isinstance(value, int | float) and abs(value) > LARGEST:
            raise ValueError(f"must be at most {LARGEST}, found {value}")
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and re.search("[\0\ud800-\udfff]", text):
                raise ValueError(
                    "must not hold the character NUL or half a character: no file or language has it in its name"
                )
        return value


def as_tuple(value: object) -> object:
    """One value or a list of them: `a.en` means `[a.en]`."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _named(names: tuple[str, ...]) -> tuple[str, ...]:
    if "" in names:
        raise ValueError("must not hold an empty name; [] = none")
    return names


Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple), AfterValidator(_named)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Few = Annotated[int, Field(ge=1, le=10_000)]
