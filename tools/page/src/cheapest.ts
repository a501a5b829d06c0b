/**
 * The cheapest price of one accelerator for an hour, by provider and purchase option. Machines of community
 * hosts are apart, as in Python: the cheapest cloud offer is a data center's.
 */

import { WAYS } from "./prices";
import type { Release } from "./release";

export interface Price {
  usd: number;
  /** The row of offers with that price. */
  row: number;
}

export type ByProvider = Map<string, Map<string, Price>>;

interface Cheapest {
  dataCenters: Map<string, ByProvider>;
  community: Map<string, ByProvider>;
}

const known = new WeakMap<Release, Cheapest>();

/** By accelerator, provider and purchase option (every price column of offers). */
export function cheapest(release: Release): Map<string, ByProvider> {
  return both(release).dataCenters;
}

/** The same of machines of community hosts. */
export function cheapestOfCommunity(release: Release): Map<string, ByProvider> {
  return both(release).community;
}

function both(release: Release): Cheapest {
  let result = known.get(release);
  if (!result) {
    const isCommunity = (row: number) => release.isCommunity(row);
    result = {
      dataCenters: compute(release, release.deviceRows.filter((row) => !isCommunity(row))),
      community: compute(release, release.deviceRows.filter(isCommunity)),
    };
    known.set(release, result);
  }
  return result;
}

function compute(release: Release, rows: readonly number[]): Map<string, ByProvider> {
  const { offers } = release;
  const [device, provider] = [offers.column("accelerator_id"), offers.column("provider")];
  const count = offers.column("accelerator_count");
  const ways = WAYS.map(({ column }) => offers.column(column));
  const result = new Map<string, ByProvider>();
  for (const row of rows) {
    const devices = count.number(row);
    if (!devices) continue;
    const byProvider = entry(result, device.text(row), () => new Map());
    const byWay = entry(byProvider, provider.text(row), () => new Map<string, Price>());
    for (const way of ways) {
      const price = way.number(row);
      if (price === null) continue;
      const best = byWay.get(way.name);
      if (!best || price / devices < best.usd) byWay.set(way.name, { usd: price / devices, row });
    }
  }
  return result;
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** The cheapest price of an accelerator over all providers. */
export function lowest(byProvider: ByProvider | undefined, way: string): Price | null {
  const prices = [...(byProvider?.values() ?? [])].map((byWay) => byWay.get(way)).filter((price) => price !== undefined);
  return prices.reduce<Price | null>((best, price) => (best && best.usd <= price.usd ? best : price), null);
}

/** Rows of offers with an accelerator. */
export function offersOf(release: Release, accelerators: ReadonlySet<string>): number[] {
  const device = release.offers.column("accelerator_id");
  const codes = new Set([...accelerators].map((id) => device.code(id)).filter((code) => code > 0));
  return release.deviceRows.filter((row) => codes.has(device.codes[row]!));
}
