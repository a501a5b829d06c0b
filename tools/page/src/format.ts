/** How figures are written: the same everywhere on the page, and with few digits. */

import type { ColumnInfo } from "./release";
import type { Value } from "./payload";

const formatters = new Map<number, Intl.NumberFormat>();

/** Numbers with so many decimals, at least and at most. Making a formatter takes longer than using it 100 times. */
function formatter(least: number, most: number): Intl.NumberFormat {
  const key = least * 10 + most;
  let made = formatters.get(key);
  if (!made) {
    made = new Intl.NumberFormat("en-US", { minimumFractionDigits: least, maximumFractionDigits: most });
    formatters.set(key, made);
  }
  return made;
}

/** A price with the digits that matter: 98.32, 4.38, 0.0425. */
export function money(value: number): string {
  if (value >= 10_000) return integer(Math.round(value));
  const digits = value >= 1 ? 2 : value >= 0.01 ? 4 : 6;
  return formatter(2, digits).format(value);
}

/** Sorts names as people do, with their numbers by value; made once, because that takes long. */
export const BY_NAME = new Intl.Collator("en", { numeric: true });

export function usd(value: number): string {
  return `$${money(value)}`;
}

/** A price that is computed from estimates: three digits matter. */
export function estimate(value: number): string {
  return `$${ESTIMATE.format(value)}`;
}

const ESTIMATE = new Intl.NumberFormat("en-US", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

export function number(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 4;
  return formatter(0, digits).format(value);
}

export function integer(value: number): string {
  return formatter(0, 3).format(value);
}

export function percent(ratio: number): string {
  return `${Math.round(ratio * 100)} %`;
}

/** Ratios are written in percent, but for the PUE, which nobody does. */
function isShare(column: ColumnInfo): boolean {
  return column.unit === "ratio" && column.name !== "pue";
}

/** A cell of the table of offers, rounded for reading. */
export function cell(column: ColumnInfo | undefined, value: Value | null): string {
  if (value === null) return "";
  if (typeof value !== "number" || !column) return String(value);
  if (column.kind === "money") return usd(value);
  if (isShare(column)) return percent(value);
  return number(value);
}

/** The same with the unit, where no heading has it. */
export function withUnit(column: ColumnInfo, value: Value | null): string {
  if (value === null) return "";
  if (typeof value !== "number") return words(column.name, value);
  const unit = column.unit === "ratio" ? "" : column.unit.replace(/^USD/, "").replace("10^6 ", "1M ").replace(/\((.+)·h\)/, "$1-h").replace("accelerator-h", "GPU-h");
  return `${cell(column, value)} ${unit}`.trim();
}

/** Codes such as committed_use_3y are written with spaces; names of machines stay as they are. */
export function words(column: string, value: string): string {
  const isCode = /(option|reason|kind|basis)$/.test(column);
  return isCode ? value.replaceAll("_", " ").replaceAll(",", ", ").replaceAll("sku", "SKU") : value;
}

export function day(time: string | null): string {
  if (!time) return "not known";
  return new Date(time).toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
    timeZone: "UTC",
  });
}

export function daysBetween(earlier: string, later: string): number {
  return Math.max(0, Math.floor((Date.parse(later) - Date.parse(earlier)) / 86_400_000));
}
