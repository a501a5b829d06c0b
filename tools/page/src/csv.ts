/** What is shown as a file of comma-separated values. */

import type { ColumnInfo, Release } from "./release";
import type { Value } from "./payload";

/** Columns that complete the meaning of another: "8 × H100" and "EUR 18.96" are two columns each. */
const COMPLETED_BY: Record<string, string[]> = {
  device: ["accelerator_count"],
  on_demand_usd_per_hour: ["currency", "on_demand_hourly"],
};

/** Saves the offers in these rows, with the columns that are shown and those that complete them. */
export function saveOffers(release: Release, rows: Iterable<number>, shown: ColumnInfo[]): void {
  const listed = shown.filter(({ name }) => release.offers.has(name));
  const names = new Set(listed.flatMap(({ name }) => [name, ...(COMPLETED_BY[name] ?? [])]));
  const columns = [...names].map((name) => release.offers.column(name));
  const lines = Array.from(rows, (row) => columns.map((column) => column.at(row)));
  save(`hwprices-offers-${release.facts.about.version}.csv`, [columns.map((column) => column.name), ...lines]);
}

export function save(name: string, rows: (Value | null)[][]): void {
  const text = rows.map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Texts that a spreadsheet would run as a formula get an apostrophe in front. */
function field(value: Value | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
