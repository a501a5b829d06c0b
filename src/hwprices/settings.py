"""Settings that all providers share, and how a provider adds its own.

A setting comes from the environment (prefix ``HWPRICES_``) or from a flag; nothing is read at
import. A provider with more settings declares a class ``Settings`` in
``providers/<name>/__init__.py`` that inherits from ``Settings`` here; its fields begin with the
provider's name.

Credentials are not settings: boto3, google-auth and azure-identity find their own. A key that must
be a setting (GCP's API key) is a SecretStr, which logs and error messages never show.
"""

from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from hwprices.errors import HwpricesError
from hwprices.specs import data_directory

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
OBJECT_STORES = ("s3://", "gs://", "az://")


def is_loopback(url: str) -> bool:
    """Check whether the URL's host is this machine."""
    return (urlsplit(url).hostname or "") in LOOPBACK


def _check_endpoint(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port  # reading an invalid port raises
    except ValueError:  # whose text may repeat a secret
        raise ValueError("it is not a URL, or its port is not from 0 to 65535") from None
    if parts.username or parts.password:
        raise ValueError("an endpoint must not carry a user name or password")
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(url)):
        return url.rstrip("/")
    raise ValueError(
        "the URL is not https; plain http is taken only for this machine (127.0.0.1, localhost)"
    )


_ENDPOINT = AfterValidator(_check_endpoint)

Endpoint = Annotated[str, _ENDPOINT]
"""The URL of a vendor's API: https, or plain http to this machine; no user name or password."""


def _split(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(name.strip() for name in value.split(",") if name.strip())


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Comma-separated names."""


class Settings(BaseSettings):
    """The settings of every run. ``load()`` reads them and turns errors into one line."""

    model_config = SettingsConfigDict(
        env_prefix="HWPRICES_", populate_by_name=True, extra="ignore", frozen=True
    )

    root: str = Field(
        default="data", description="Where everything is kept: a folder or s3://, gs://, az://."
    )
    source: Literal["sample", "live"] = Field(
        default="sample",
        description="sample: replay the bundled landing directory; live: ask the vendors.",
    )
    sample: str = Field(
        default_factory=lambda: str(data_directory() / "sample"),
        description="The bundled landing directory.",
        json_schema_extra={"shown_default": "data/sample"},
    )
    providers: Annotated[Names, AfterValidator(lambda names: tuple(map(str.lower, names)))] = Field(
        default=(),
        description="Providers that the flows collect and preflight checks, comma separated.",
        json_schema_extra={"shown_default": "all"},
    )
    connect_timeout: float = Field(
        default=5, gt=0, description="How long a connection may take, in seconds."
    )
    read_timeout: float = Field(
        default=30, gt=0, description="How long a server may be silent, in seconds."
    )
    attempts: int = Field(
        default=4,
        ge=1,
        le=10,
        description="Tries of one page, with back-off, before it counts as failed.",
    )
    max_retry_after: float = Field(
        default=120, ge=0, description="Longest Retry-After that is waited for, in seconds."
    )
    page_deadline: float = Field(
        default=1800,  # the largest price list, 1.2 GB in 80 MB of gzip, at 50 kB/s
        gt=0,
        description="How long one page may take with all its tries, in seconds.",
    )
    unit_deadline: float = Field(
        default=3600, gt=0, description="How long all pages of one unit may take, in seconds."
    )
    max_page_bytes: int = Field(
        default=4_000_000_000,  # three times AWS's largest price list
        ge=1,
        description="Largest page, decompressed, in bytes.",
    )
    max_unit_bytes: int = Field(
        default=16_000_000_000,  # four tries of the largest page
        ge=1,
        description="Most that one unit may receive in all its tries, decompressed, in bytes.",
    )
    keep_runs: int = Field(
        default=3,
        ge=1,
        description="Newest collections of each provider of which tables and pages are kept.",
    )
    keep_releases: int = Field(
        default=30,
        ge=0,
        description="Newest releases kept when older ones are thinned out after each publication"
        " (hwprices admin prune --help says what stays); 0 deletes none.",
    )

    @field_validator("root", "sample")
    @classmethod
    def _check_root(cls, value: str) -> str:
        if "://" in value and not value.startswith((*OBJECT_STORES, "file://")):
            raise ValueError(f"{value} is neither a folder nor one of s3://, gs://, az://")
        if not value.strip():
            raise ValueError("it is empty: give a folder or s3://bucket/prefix")
        return value.removeprefix("file://")


S = TypeVar("S", bound=Settings)


def load(**flags: object) -> Settings:
    """Read the common settings; see ``load_as``."""
    return load_as(Settings, **flags)


def load_as(model: type[S], **flags: object) -> S:
    """Read settings from the environment; flags that are not None take precedence.

    Raises:
        HwpricesError: a value is invalid; names the variable and the values it accepts.
    """
    try:
        set_flags: dict[str, Any] = {name: flag for name, flag in flags.items() if flag is not None}
        return model(**set_flags)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "setting"
        label = variable(model, name) if name in model.model_fields else name
        raise HwpricesError(
            f"{label}: {first['msg'].removeprefix('Value error, ')}",
            "See --help for what each setting takes.",
        ) from None


def extend(settings: Settings, model: type[S]) -> S:
    """Add a provider's own settings, read from the environment, to common settings.

    Settings that are already of that class are returned unchanged.

    Raises:
        HwpricesError: a value of the provider's own settings is invalid.
    """
    if isinstance(settings, model):
        return settings
    return load_as(model, **{name: getattr(settings, name) for name in Settings.model_fields})


def variable(model: type[Settings], name: str) -> str:
    """Return the environment variable of a setting."""
    alias = model.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    return f"HWPRICES_{name.upper()}"


ONLY_WITH = "only_with"
"""Key in an endpoint's ``json_schema_extra``: the endpoint is used only if this setting is set."""


def provider_endpoints(settings: Settings) -> list[str]:
    """List the endpoints among a provider's own settings that a run with them uses."""
    return [
        str(getattr(settings, name))
        for name, field in type(settings).model_fields.items()
        if name not in Settings.model_fields
        and _ENDPOINT in field.metadata
        and _is_used(settings, field.json_schema_extra)
    ]


def _is_used(settings: Settings, extra: object) -> bool:
    condition = extra.get(ONLY_WITH) if isinstance(extra, dict) else None
    return condition is None or bool(getattr(settings, str(condition)))


def describe(model: type[Settings] = Settings) -> list[tuple[str, str, str]]:
    """List the settings a class adds, as (variable, default, meaning).

    For ``Settings`` these are the common ones; for a provider's class only its own.
    """
    return [
        (variable(model, name), _shown_default(field), field.description or "")
        for name, field in model.model_fields.items()
        if model is Settings or name not in Settings.model_fields
    ]


def _shown_default(field: Any) -> str:
    extra = field.json_schema_extra or {}
    default = extra.get("shown_default", field.default) if isinstance(extra, dict) else None
    if default is None:
        return ""
    return ",".join(default) if isinstance(default, tuple) else f"{default}"
