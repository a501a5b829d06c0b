/** What an answer is computed from; src/hwprices/read/report/questions.py prepares it. */

import type { Table } from "../payload";

export interface Model {
  model_id: string;
  name: string;
  parameters: number;
  active_parameters: number;
  layers: number;
  hidden: number;
  kv_elements: number;
  attention_width: number;
  ffn?: number;
  vocab: number;
  heads: number;
  kv_heads: number;
  active_expert_share: number;
  context_limit?: number;
  window?: number;
  full_attention_layers?: number;
  license?: string;
  /** Format of 4 bits in which the weights are published. */
  released_format?: string;
  input_tokens: number;
  output_tokens: number;
  /** Benchmark that the two lengths are of. */
  lengths_from: string;
  training_context: number;
}

/** Machines with the same accelerators, as many, with as much memory. */
export interface Kind {
  accelerator_id?: string;
  accelerator_count?: number;
  devices?: number;
  usable_bytes?: number;
  clusters: boolean;
  network_gbps?: number;
  inference_only: boolean;
  machine_memory_gib?: number;
  obstacle?: string;
}

export interface Efficiency {
  compute: number;
  bandwidth: number;
}

export interface Device {
  kind: string;
  bytes_per_second: number | null;
  link_bytes_per_second: number;
  /** By format of the stored weights. */
  serving: Record<string, { reason?: string; compute_format: string; peak: number | null; rate: number; kv_bytes: number }>;
  training: Record<string, { reason: string | null; compute_format: string | null; rate: number | null }>;
  /** By dense/serving, dense/single_user, experts/serving and experts/single_user. */
  efficiency: Record<string, Efficiency>;
  /** Whether an accelerator of its family was measured so. */
  fitted: Record<MeasureKind, boolean>;
  is_small: boolean;
  /** The MFU that trainings of dense models reached, where they were measured; narrow: in FP8. */
  mfu: { wide: number | null; narrow: number | null };
  /** Most chips that the links of a TPU slice join. */
  slice: number | null;
}

export interface LocalMachine {
  kind_number: number;
  provider: string;
  machine: string;
  usd_per_hour?: number;
  purchase_price_usd?: number;
  purchase_price_date?: string;
  energy_usd_per_hour?: number;
  no_price: string;
  currency?: string;
}

/** A measured time of a fine-tuning on one machine. */
export interface Tuning {
  accelerator_id: string;
  count: number;
  minutes: number;
  label: string;
}

export interface Constants {
  input_tokens: number;
  output_tokens: number;
  reading_speed: number;
  fine_tuning_tokens: number;
  tokens_per_parameter: number;
  training_days: number;
  training_context: number;
  max_nodes: Record<Workload, number>;
  options: Record<string, string[]>;
  /** Provider and region of machines that private people rent out. */
  private_hosts: [string, string][];
  bits_per_weight: Record<string, number>;
  bytes_per_weight: Record<string, number>;
  training_bytes: { weights: number; gradients: number; optimizer: number };
  optimizer_bytes: Record<string, number>;
  lora_rank: number;
  prefill_tokens: number;
  flops_per_parameter_and_token: Record<Workload, number>;
  logit_bytes: number;
  logit_tokens: number;
  fast_link: number;
  all_reduce_seconds: { fast: number; pcie: number };
  all_reduces_per_layer: number;
  layer_seconds: number;
  max_sequences: number;
  measured_batched: number;
  most_copies: number;
  mfu: Record<"fast_link" | "pcie" | "tpu" | "other" | "narrow" | "experts" | "unpacking", number>;
  weight_passes: number;
  setup_hours: number;
  checkpoint_hours_per_day: number;
  tuned_model: string;
  tuning_tokens: number;
  tuning_context: number;
  hours_per_month: number;
}

export type Workload = "inference" | "lora" | "full_finetune" | "pretrain";

export interface RecommendFacts {
  constants: Constants;
  models: Model[];
  kinds: Kind[];
  devices: Record<string, Device>;
  local: LocalMachine[];
  tunings: Tuning[];
  /** basis/kind: median and 90th percentile of the error, as shares of the measured figure. */
  errors: Record<string, [number, number]>;
}

/** What is known of a model on an accelerator from the nearest measurement. */
export interface Nearest {
  /** Measured over modelled speed. */
  factor: number;
  label: string;
  /** Of a measurement of the same model: format of its weights, and most operations per second. */
  precision: string | null;
  most_work: number | null;
}

export type MeasureKind = "serving" | "single_user";

/** The facts with the two tables that are looked up by key. */
export class Knowledge {
  private readonly nearestRows = new Map<string, number>();
  private readonly measuredRows = new Map<string, number>();

  constructor(
    readonly facts: RecommendFacts,
    private readonly nearestTable: Table,
    private readonly measuredTable: Table,
  ) {
    const key = (table: Table, columns: string[], row: number) => columns.map((name) => table.column(name).text(row)).join("|");
    for (let row = 0; row < nearestTable.rows; row++) {
      this.nearestRows.set(key(nearestTable, ["accelerator_id", "model_id", "kind", "compute_format"], row), row);
    }
    for (let row = 0; row < measuredTable.rows; row++) {
      this.measuredRows.set(key(measuredTable, ["kind_number", "model_id"], row), row);
    }
  }

  model(id: string): Model | undefined {
    return this.facts.models.find((model) => model.model_id === id);
  }

  /** The measurement for a format to compute in: one row stands for all that have none of their own. */
  nearest(accelerator: string, model: Model, kind: MeasureKind, computeFormat = ""): Nearest | null {
    const key = `${accelerator}|${model.model_id}|${kind}|`;
    const row = this.nearestRows.get(key + computeFormat) ?? this.nearestRows.get(key);
    if (row === undefined) return null;
    const table = this.nearestTable;
    return {
      factor: table.column("factor").number(row)!,
      label: table.column("label").text(row),
      precision: table.column("precision").text(row) || null,
      most_work: table.column("most_work").number(row),
    };
  }

  /** The answer for a model on a kind of machine when nothing else is asked, if it was measured. */
  measured(kindNumber: number, model: Model): Estimate | null {
    const row = this.measuredRows.get(`${kindNumber}|${model.model_id}`);
    if (row === undefined) return null;
    const estimate: Record<string, unknown> = {};
    for (const name of ESTIMATE_COLUMNS) estimate[name] = this.measuredTable.column(name).at(row);
    return estimate as unknown as Estimate;
  }
}

/** A job on a kind of machine; null where it does not run. */
export interface Estimate {
  /** Code of why the machine is left out. */
  reason: string | null;
  nodes: number | null;
  nodes_needed: number | null;
  precision: string | null;
  compute_format: string | null;
  memory_needed_gib: number | null;
  memory_usable_gib: number | null;
  hours: number | null;
  tokens_per_second: number | null;
  tokens_per_second_per_user: number | null;
  seconds_to_first_token: number | null;
  concurrency: number | null;
  prompt_share: number | null;
  /** measured, scaled, modelled, or unmeasured_family. */
  basis: string | null;
  error: number | null;
  error_p90: number | null;
  measurement: string | null;
}

export const NO_ESTIMATE: Estimate = {
  reason: null,
  nodes: null,
  nodes_needed: null,
  precision: null,
  compute_format: null,
  memory_needed_gib: null,
  memory_usable_gib: null,
  hours: null,
  tokens_per_second: null,
  tokens_per_second_per_user: null,
  seconds_to_first_token: null,
  concurrency: null,
  prompt_share: null,
  basis: null,
  error: null,
  error_p90: null,
  measurement: null,
};

const ESTIMATE_COLUMNS = Object.keys(NO_ESTIMATE);
