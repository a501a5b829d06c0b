"""Curated sheets that are never published: language models, and vendors' names of accelerators."""

import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import Table, column


class LanguageModels(Table):
    """Published language models and the dimensions that their memory is computed from."""

    model_id: pl.String = column("Stable id.", str_matches=r"^[a-z0-9.]+(-[a-z0-9.]+)*$")
    name: pl.String = column("Name of the model.")
    parameters_b: pl.Float64 = column("Parameters.", unit="10^9", gt=0)
    active_parameters_b: pl.Float64 = column(
        "Parameters that one token uses; fewer than all in a mixture of experts.",
        unit="10^9",
        gt=0,
    )
    layers: pl.Int32 = column("Transformer layers.", gt=0)
    hidden_size: pl.Int32 = column("Width of the hidden state.", gt=0)
    kv_elements_per_layer: pl.Int32 = column(
        "Numbers that the key-value cache keeps for one token in one layer.", gt=0
    )
    attention_width: pl.Int32 = column("Attention heads × width of a head.", gt=0)
    ffn_size: pl.Int32 = column(
        "Width of the feed-forward layer; null for a mixture of experts.", nullable=True, gt=0
    )
    vocab_size: pl.Int32 = column("Tokens of the vocabulary.", gt=0)
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    notes: pl.String = columns.notes()

    class Config:
        name = "models"
        metadata = {"key": ["model_id"]}


class AcceleratorNames(Table):
    """Rules that find the accelerator of a machine from a vendor's words.

    A rule with a name and a pattern goes before a rule with one of them.
    """

    vendor_name: pl.String = column(
        "The accelerator as the vendor's API names it; null where the pattern decides alone.",
        nullable=True,
    )
    instance_type_pattern: pl.String = column(
        "Regular expression for the whole machine type; null where the name decides alone.",
        nullable=True,
    )
    accelerator_id: pl.String = columns.accelerator_id()
    count: pl.Float64 = column(
        "Devices of the machine, where the vendor does not say or is wrong.", nullable=True, gt=0
    )
    memory_gib: pl.Float64 = column(
        "Memory of one device, where the vendor does not say or is wrong.",
        unit="GiB",
        nullable=True,
        gt=0,
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()

    class Config:
        name = "accelerator_names"
        metadata = {"key": ["vendor_name", "instance_type_pattern"]}
