/** What is shown as a file of comma-separated values. */

import type { ColumnInfo, Release } from "./release";
import type { Value } from "./payload";

export function csv(release: Release, rows: Iterable<number>, shown: ColumnInfo[]): string {
  const columns = shown.map((info) => release.offers.column(info.name));
  const lines = [columns.map((column) => field(column.name)).join(",")];
  for (const row of rows) lines.push(columns.map((column) => field(column.at(row))).join(","));
  return lines.join("\r\n") + "\r\n";
}

/** Texts that a spreadsheet would run as a formula get an apostrophe in front. */
function field(value: Value | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

export function download(release: Release, rows: Iterable<number>, shown: ColumnInfo[]): void {
  const blob = new Blob([csv(release, rows, shown)], { type: "text/csv" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `hwprices-offers-${release.facts.about.version}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
