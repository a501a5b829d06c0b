/** Which offers pass the filters, in which order, and how many each choice would leave. */

import type { Column, Table } from "./payload";
import { list, range, type Range } from "./state";

/** Columns that are filtered by a choice of values, with the heading of the filter. */
export const CHOICES = [
  { column: "device", heading: "Accelerator" },
  { column: "provider", heading: "Provider" },
  { column: "continent", heading: "Continent" },
  { column: "country", heading: "Country" },
  { column: "region", heading: "Region" },
  { column: "accelerator_kind", heading: "Kind of accelerator" },
  { column: "arch", heading: "CPU architecture" },
  { column: "currency", heading: "Currency" },
] as const;

/** Columns that are filtered by a range. The price is that of the chosen option. */
export const RANGES = [
  { column: "accelerator_count", heading: "Number of accelerators", unit: "" },
  { column: "accelerator_memory_gib", heading: "Accelerator memory", unit: "GiB" },
  { column: "vcpus", heading: "vCPUs", unit: "" },
  { column: "memory_gib", heading: "Memory", unit: "GiB" },
] as const;

/** By column of CHOICES: what an offer without a value is called. */
export const NO_VALUE: Partial<Record<string, string>> = {
  device: "machine not described",
  continent: "not named",
  country: "not named",
};

export const PRICE = "price";
export const DEFAULT_OPTION = "on_demand_usd_per_hour";
export const DEFAULT_SORT = "usd_per_pflop_hour_bf16";

const SEARCHED = ["instance_type", "device", "region", "provider", "family", "continent"];

/** "8xH100": eight accelerators of that name. */
const COUNTED = /^(\d+(?:\.\d+)?)[x×](.+)$/;

const USD = "USD";

export interface Found {
  rows: Uint32Array;
  /** By column of CHOICES: how many offers have each code, all other filters applied. */
  counts: Map<string, Uint32Array>;
  /** Offers that pass all but the price, because theirs is in another currency than USD. */
  otherCurrency: number;
}

interface Test {
  name: string;
  column: Column;
  allowed: Uint8Array;
}

export function find(offers: Table, parameters: Record<string, string>): Found {
  const choices = CHOICES.map(({ column }) => choiceTest(offers.column(column), list(parameters[column])));
  const ranges = RANGES.map(({ column }) => rangeTest(offers.column(column), range(parameters[column])));
  const option = offers.column(parameters.option || DEFAULT_OPTION);
  const price =
    rangeTest(option, range(parameters[PRICE]), PRICE) ?? (parameters.option ? test(option, PRICE, () => true) : null);
  const tests = [...choices, ...ranges, price, ...wordTests(offers, parameters.q)].filter(
    (test): test is Test => test !== null,
  );
  return count(offers, tests);
}

/** One pass: an offer that fails one test only still counts among that test's choices. */
function count(offers: Table, tests: Test[]): Found {
  const counted = CHOICES.map(({ column }) => ({
    column: offers.column(column),
    counts: new Uint32Array(offers.column(column).values.length + 1),
  }));
  const rows = new Uint32Array(offers.rows);
  const isOther = test(offers.column("currency"), "", (currency) => currency !== USD).allowed;
  const [currency, ownPrice] = [offers.column("currency"), offers.column("on_demand_hourly")];
  let length = 0;
  let otherCurrency = 0;
  for (let row = 0; row < offers.rows; row++) {
    let failed = 0;
    let failure = "";
    for (const test of tests) {
      if (test.allowed[test.column.codes[row]!] === 0) {
        failed += 1;
        failure = test.name;
        if (failed > 1) break;
      }
    }
    if (failed > 1) continue;
    if (failed === 0) rows[length++] = row;
    else if (failure === PRICE && isOther[currency.codes[row]!] && ownPrice.codes[row]) otherCurrency += 1;
    for (const { column, counts } of counted) {
      if (failed === 0 || column.name === failure) counts[column.codes[row]!]! += 1;
    }
  }
  return {
    rows: rows.slice(0, length),
    counts: new Map(counted.map(({ column, counts }) => [column.name, counts])),
    otherCurrency,
  };
}

/** A test of a column that allows the codes for which `allows` holds. */
function test(column: Column, name: string, allows: (value: string | number) => boolean): Test {
  const allowed = new Uint8Array(column.values.length + 1);
  column.values.forEach((value, position) => (allowed[position + 1] = allows(value) ? 1 : 0));
  return { name, column, allowed };
}

function choiceTest(column: Column, chosen: string[]): Test | null {
  if (chosen.length === 0) return null;
  const wanted = new Set(chosen);
  const result = test(column, column.name, (value) => wanted.has(String(value)));
  if (wanted.has(NONE)) result.allowed[0] = 1;
  return result;
}

export const NONE = "(none)";

function rangeTest(column: Column, { low, high }: Range, name = ""): Test | null {
  if (low === null && high === null) return null;
  const from = low ?? -Infinity;
  const to = high ?? Infinity;
  return test(column, name, (value) => typeof value === "number" && value >= from && value <= to);
}

/** Every word of the search must be in one of the columns SEARCHED, or count accelerators (COUNTED). */
function wordTests(offers: Table, search: string | undefined): Test[] {
  const words = (search ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return words.map((word) => {
    const tests = SEARCHED.map((name) =>
      test(offers.column(name), "", (value) => String(value).toLowerCase().includes(word)),
    );
    const matches = new Uint8Array(offers.rows);
    for (const { column, allowed } of tests) {
      for (let row = 0; row < offers.rows; row++) matches[row]! |= allowed[column.codes[row]!]!;
    }
    const [, counted, rest] = COUNTED.exec(word) ?? [];
    if (counted && rest) {
      const count = test(offers.column("accelerator_count"), "", (value) => value === Number(counted));
      const device = test(offers.column("device"), "", (value) => squeezed(String(value)).includes(rest));
      for (let row = 0; row < offers.rows; row++) {
        matches[row]! |= count.allowed[count.column.codes[row]!]! & device.allowed[device.column.codes[row]!]!;
      }
    }
    const column = { name: "", codes: matches } as unknown as Column;
    return { name: "", column, allowed: Uint8Array.of(0, 1) };
  });
}

/** A name as it is written in one word: "rtx4090". */
function squeezed(name: string): string {
  return name.toLowerCase().replaceAll(" ", "");
}

/** What is sorted by first, where nothing is asked: the price of the chosen way to buy, or of computing. */
export function defaultSort(parameters: Record<string, string>): string {
  return parameters.option || DEFAULT_SORT;
}

/** Sort rows without a price in USD, at the end of `rows`, by currency and the price in it. */
export function sortOwnCurrency(offers: Table, rows: Uint32Array, column: Column, descending: boolean): Uint32Array {
  const first = rows.findIndex((row) => column.codes[row] === 0);
  if (first < 0) return rows;
  const [currency, price] = [offers.column("currency"), offers.column("on_demand_hourly")];
  const direction = descending ? -1 : 1;
  const rest = Array.from(rows.subarray(first)).sort((one, other) => {
    const [left, right] = [price.codes[one]!, price.codes[other]!];
    if (!left || !right) return Number(!left) - Number(!right);
    return currency.codes[one]! - currency.codes[other]! || (left - right) * direction;
  });
  const result = rows.slice();
  result.set(rest, first);
  return result;
}

/** Sort rows by a column; what is not known comes last in both directions. Equal rows keep their order. */
export function sorted(rows: Uint32Array, column: Column, descending: boolean): Uint32Array {
  const buckets = column.values.length + 1;
  const place = (code: number): number => {
    if (code === 0) return buckets - 1;
    return descending ? buckets - 1 - code : code - 1;
  };
  const starts = new Uint32Array(buckets + 1);
  for (const row of rows) starts[place(column.codes[row]!) + 1]! += 1;
  for (let bucket = 0; bucket < buckets; bucket++) starts[bucket + 1]! += starts[bucket]!;
  const result = new Uint32Array(rows.length);
  for (const row of rows) {
    const bucket = place(column.codes[row]!);
    result[starts[bucket]!++] = row;
  }
  return result;
}
