/** Which offers pass the filters, in which order, and how many each choice would leave. */

import type { Asks } from "./grammar";
import type { Column, Table } from "./payload";
import { LINUX, OWN, priceColumn, type Basis } from "./prices";
import type { Release } from "./release";
import { list, range, type Range } from "./state";

/** Columns that are filtered by a choice of values, with the heading of the filter. */
export const CHOICES = [
  { column: "device", heading: "GPU" },
  { column: "provider", heading: "Cloud" },
  { column: "continent", heading: "Continent" },
  { column: "country", heading: "Country" },
  { column: "region", heading: "Region" },
  { column: "accelerator_kind", heading: "Accelerator kind" },
  { column: "arch", heading: "CPU architecture" },
  { column: "currency", heading: "Currency" },
] as const;

/** Columns that are filtered by a range. */
export const RANGES = [
  { column: "accelerator_count", heading: "GPUs", unit: "" },
  { column: "gpu_gib", heading: "GPU memory", unit: "GiB" },
  { column: "vcpus", heading: "vCPUs", unit: "" },
  { column: "memory_gib", heading: "RAM", unit: "GiB" },
] as const;

/** By column of CHOICES: what an offer without a value is called. */
export const NO_VALUE: Partial<Record<string, string>> = {
  device: "machine not described",
  continent: "not stated",
  country: "not stated",
};

export const PRICE = "price";
const COMMUNITY = "community";
const USD = "USD";

export interface Found {
  rows: Uint32Array;
  /** By column of CHOICES: how many offers have each code, all other filters applied. */
  counts: Map<string, Uint32Array>;
  /** Offers that pass all but the price, because theirs is in another currency than USD. */
  otherCurrency: number;
  /** Offers of community hosts that pass all else. */
  community: number;
}

export interface Filter {
  parameters: Record<string, string>;
  asks: Asks;
  basis: Basis;
  /** Whether only machines with accelerators count. */
  gpus: boolean;
}

interface Test {
  name: string;
  column: Column;
  allowed: Uint8Array;
}

export function find(release: Release, { parameters, asks, basis, gpus }: Filter): Found {
  const { offers } = release;
  const choices = CHOICES.map(({ column }) => choiceTest(offers.column(column), list(parameters[column])));
  const ranges = RANGES.map(({ column }) => rangeTest(offers.column(column), range(parameters[column])));
  const amount = priceColumn(release, basis.columns, basis);
  const price =
    rangeTest(amount, range(parameters[PRICE]), PRICE) ?? (basis.chosen ? test(amount, PRICE, () => true) : null);
  const ofSystem = basis.os === LINUX ? null : [amount, priceColumn(release, [OWN], { ...basis, perGpu: false })];
  const tests = [
    ...choices,
    ...ranges,
    price,
    ofSystem && rowTest(offers, "", (row) => ofSystem.some(({ codes }) => codes[row] !== 0)),
    gpus ? test(offers.column("accelerator_kind"), "", (kind) => kind !== "none") : null,
    parameters.community ? null : rowTest(offers, COMMUNITY, (row) => !release.isCommunity(row)),
    ...askedTests(release, asks, basis),
  ].filter((test): test is Test => test !== null);
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
  const [currency, ownPrice] = [offers.column("currency"), offers.column(OWN)];
  let length = 0;
  let [otherCurrency, community] = [0, 0];
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
    else if (failure === COMMUNITY) community += 1;
    else if (failure === PRICE && isOther[currency.codes[row]!] && ownPrice.codes[row]) otherCurrency += 1;
    for (const { column, counts } of counted) {
      if (failed === 0 || column.name === failure) counts[column.codes[row]!]! += 1;
    }
  }
  return {
    rows: rows.slice(0, length),
    counts: new Map(counted.map(({ column, counts }) => [column.name, counts])),
    otherCurrency,
    community,
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

function rowTest(offers: Table, name: string, passes: (row: number) => boolean): Test {
  const codes = new Uint8Array(offers.rows);
  for (let row = 0; row < offers.rows; row++) codes[row] = passes(row) ? 1 : 0;
  return { name, column: { name: "", codes } as unknown as Column, allowed: Uint8Array.of(0, 1) };
}

/** What the words of a question ask for. */
function askedTests(release: Release, asks: Asks, basis: Basis): (Test | null)[] {
  const { offers } = release;
  const among = (name: string, wanted: ReadonlySet<string>) => (wanted.size === 0 ? null : test(offers.column(name), "", (value) => wanted.has(String(value))));
  const atLeast = (name: string, low: number | null) => rangeTest(offers.column(name), { low, high: null });
  const below = (limit: number | null, perGpu: boolean) => (limit === null ? null : rangeTest(priceColumn(release, basis.columns, { ...basis, perGpu }), { low: null, high: limit }));
  return [
    acceleratorTest(offers, asks),
    rangeTest(offers.column("accelerator_count"), { low: asks.count, high: asks.count }),
    atLeast("accelerator_gib", asks.gpuMemory),
    atLeast("vcpus", asks.vcpus),
    atLeast("memory_gib", asks.memory),
    asks.arch ? among("arch", new Set([asks.arch])) : null,
    among("provider", asks.providers),
    pairTest(offers, "instance_type", asks.machines),
    pairTest(offers, "region", asks.regions),
    below(asks.maxPrice, false),
    below(asks.maxPricePerGpu, true),
    ...[...asks.parts].map((part) => test(offers.column("instance_type"), "", (value) => String(value).toLowerCase().includes(part))),
  ];
}

/** Any of the accelerators, those without an id by their vendor's name, of the machines named beside them, or of the kinds. */
function acceleratorTest(offers: Table, { accelerators, kinds }: Asks): Test | null {
  if (accelerators.size + kinds.size === 0) return null;
  const tests = [
    test(offers.column("accelerator_id"), "", (id) => accelerators.has(String(id))),
    test(offers.column("device"), "", (name) => accelerators.has(String(name))),
    test(offers.column("accelerator_kind"), "", (kind) => kinds.has(String(kind))),
    pairTest(offers, "instance_type", new Set([...accelerators].filter((name) => name.includes("|")))),
  ].filter((test) => test !== null);
  return rowTest(offers, "", (row) => tests.some(({ column, allowed }) => allowed[column.codes[row]!] === 1));
}

/** provider|value of the column. */
function pairTest(offers: Table, name: string, wanted: ReadonlySet<string>): Test | null {
  if (wanted.size === 0) return null;
  const [provider, column] = [offers.column("provider"), offers.column(name)];
  const width = column.values.length + 1;
  const codes = new Set(
    [...wanted].map((pair) => {
      const cut = pair.indexOf("|");
      return provider.code(pair.slice(0, cut)) * width + column.code(pair.slice(cut + 1));
    }),
  );
  return rowTest(offers, "", (row) => codes.has(provider.codes[row]! * width + column.codes[row]!));
}

/** Sort rows without a price in USD, at the end of `rows`, by currency and the price in it. */
export function sortOwnCurrency(offers: Table, rows: Uint32Array, column: Column, price: Column, descending: boolean): Uint32Array {
  const first = rows.findIndex((row) => column.codes[row] === 0);
  if (first < 0) return rows;
  const currency = offers.column("currency");
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
