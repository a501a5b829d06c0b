/** The requested price: of which purchase option and system, of a machine or one GPU, for how long. */

import { usd } from "./format";
import type { Asks, Reading } from "./grammar";
import { Column, type Value } from "./payload";
import type { ColumnInfo, Release } from "./release";

export const PERIODS = {
  hour: { hours: 1, unit: "h" },
  month: { hours: 730, unit: "mo" }, // HOURS_PER_MONTH and HOURS_PER_YEAR of units.py
  year: { hours: 8760, unit: "yr" },
} as const;
export type Period = keyof typeof PERIODS;

export const ON_DEMAND = "on_demand_usd_per_hour";
export const OWN = "on_demand_hourly";
export const LINUX = "linux";

/** Purchase options that are compared side by side, and their short names. */
export const WAYS = [
  { column: ON_DEMAND, heading: "On-demand" },
  { column: "spot_usd_per_hour", heading: "Spot" },
  { column: "best_1y_usd_per_hour", heading: "Best 1-year" },
  { column: "best_3y_usd_per_hour", heading: "Best 3-year" },
] as const;

export const SYSTEMS: Record<string, string> = { linux: "Linux", windows: "Windows", rhel: "RHEL", sles: "SLES", ubuntu_pro: "Ubuntu Pro" };

export interface Basis {
  /** Columns of offers, of which the cheapest counts; what they are called. */
  columns: string[];
  heading: string;
  /** Whether somebody chose them: offers without such a price are left out. */
  chosen: boolean;
  os: string;
  perGpu: boolean;
  period: Period;
}

export function basisOf(release: Release, parameters: Record<string, string>, reading: Reading, gpus: boolean): Basis {
  const { asks } = reading;
  const asked = asks.options.size + asks.terms.size + asks.payments.size > 0;
  const os = parameters.os || asks.os || LINUX;
  const columns = parameters.option ? [parameters.option] : asked ? columnsOf(release, asks, os) : [ON_DEMAND];
  const words = reading.meanings.filter(({ kind }) => kind === "option").map((meaning) => meaning.words);
  const known = columns.length === 1 ? headingOf(release, columns[0]!) : "";
  return {
    columns,
    heading: known || words.join(" ").replace(/^./, (letter) => letter.toUpperCase()),
    chosen: Boolean(parameters.option) || asked,
    os,
    perGpu: (parameters.per || (gpus ? "gpu" : "machine")) === "gpu",
    period: parameters.period && Object.hasOwn(PERIODS, parameters.period) ? (parameters.period as Period) : "hour",
  };
}

/** The columns of the purchase options, terms and payments that a question asks for. */
function columnsOf(release: Release, { options, terms, payments }: Asks, os: string): string[] {
  const fits = ({ option, months, payment }: ColumnInfo) =>
    (options.size === 0 || options.has(option) || (options.has("commitment") && months > 0)) &&
    (terms.size === 0 || terms.has(months)) &&
    (payments.size === 0 || payments.has(payment));
  const found = release.options.filter(fits);
  if (os === LINUX) return found.map(({ name }) => name);
  // other systems have the best of each term only
  return [...new Set(found.map(({ name, months }) => (months > 0 ? `best_${months / 12}y_usd_per_hour` : name)))];
}

export function headingOf(release: Release, column: string): string {
  return WAYS.find((way) => way.column === column)?.heading ?? release.columns.get(column)?.heading ?? column;
}

/** "$/GPU-h" */
export function unitOf({ perGpu, period }: Basis): string {
  return `$/${perGpu ? "GPU-" : ""}${PERIODS[period].unit}`;
}

/** An amount for an hour, written for the period. */
export function priced(amount: number, { period }: Basis, currency = "USD"): string {
  const text = usd(amount * PERIODS[period].hours);
  return currency === "USD" ? text : text.replace("$", `${currency} `);
}

const derived = new WeakMap<Release, Map<string, Column>>();

/** The cheapest of some columns of offers for the basis, for an hour. */
export function priceColumn(release: Release, names: readonly string[], { os, perGpu }: Pick<Basis, "os" | "perGpu">): Column {
  const ofSystem = names.map((name) => (os === LINUX ? name : `${os}:${name}`));
  if (ofSystem.length === 1 && !perGpu) return release.offers.column(ofSystem[0]!);
  const made = derived.get(release) ?? new Map<string, Column>();
  derived.set(release, made);
  const key = `${ofSystem.join()} ${perGpu}`;
  let column = made.get(key);
  if (!column) made.set(key, (column = compute(release, key, ofSystem, perGpu)));
  return column;
}

/** What one GPU costs for an hour, on Linux. */
export function perGpu(release: Release, name: string): Column {
  return priceColumn(release, [name], { os: LINUX, perGpu: true });
}

function compute({ offers }: Release, key: string, names: string[], perGpu: boolean): Column {
  const columns = names.map((name) => offers.column(name));
  const count = offers.column("accelerator_count");
  const amounts = new Float64Array(offers.rows);
  for (let row = 0; row < offers.rows; row++) {
    let lowest = Infinity;
    for (const { codes, values } of columns) {
      const code = codes[row]!;
      if (code !== 0 && (values[code - 1] as number) < lowest) lowest = values[code - 1] as number;
    }
    amounts[row] = perGpu ? lowest / (count.number(row) || NaN) : lowest;
  }
  const values = Array.from(new Set(amounts.filter(Number.isFinite).sort())) as Value[];
  const codeOf = new Map(values.map((value, position) => [value, position + 1]));
  return new Column(key, values, Uint32Array.from(amounts, (amount) => codeOf.get(amount) ?? 0));
}

/** Flags of an offer that say what to think of a price, by how the flag is called. */
const FLAGS: Record<string, { columns: RegExp; text: string }> = {
  spot_equals_on_demand: { columns: /^spot_/, text: "the vendor lists the on-demand price as its spot price" },
  spot_above_on_demand: { columns: /^spot_/, text: "the spot price is above the on-demand price" },
  not_offered_here: { columns: /./, text: "the vendor does not list the machine in this region" },
  availability_unknown: { columns: /./, text: "not known whether one is free" },
};

/** Whether a spot price is not below the on-demand price, or is that price again. */
export function isSpotFlagged({ offers }: Release, row: number): boolean {
  return /spot_(equals|above)_on_demand/.test(offers.column("flags").text(row));
}

/** What is to be known of a price, or nothing. */
export function flagOf(release: Release, row: number, column: string): string {
  const flags = release.offers.column("flags").text(row).split(", ");
  return flags.flatMap((flag) => (FLAGS[flag]?.columns.test(column) ? [FLAGS[flag].text] : [])).join("; ");
}
