/**
 * The cheapest price of one accelerator for an hour, by provider and purchase option. Machines of community
 * hosts are apart, as in Python: the cheapest cloud offer is a data center's.
 */

import type { Column } from "./payload";
import { perGpu, WAYS } from "./prices";
import type { Release } from "./release";

export interface Price {
  usd: number;
  /** The row of offers with that price. */
  row: number;
}

export type ByProvider = Map<string, Map<string, Price>>;

const known = new WeakMap<Release, Map<string, ByProvider>[]>();

/** By accelerator, provider and purchase option (the columns of WAYS): of data centers, or of community hosts. */
export function cheapest(release: Release, community = false): Map<string, ByProvider> {
  let both = known.get(release);
  if (!both) {
    both = [false, true].map((isCommunity) => compute(release, release.deviceRows.filter((row) => release.isCommunity(row) === isCommunity)));
    known.set(release, both);
  }
  return both[Number(community)]!;
}

function compute(release: Release, rows: readonly number[]): Map<string, ByProvider> {
  const [device, provider] = [release.offers.column("accelerator_id"), release.offers.column("provider")];
  const byWay = (own: number[]) =>
    new Map(
      WAYS.flatMap(({ column }) => {
        const price = cheapestRow(perGpu(release, column), own);
        return price ? [[column, price] as const] : [];
      }),
    );
  const byProvider = (own: number[]) => new Map([...Map.groupBy(own, (row) => provider.text(row))].map(([id, of]) => [id, byWay(of)]));
  return new Map([...Map.groupBy(rows, (row) => device.text(row))].map(([id, own]) => [id, byProvider(own)]));
}

/** The lowest figure of a column in these rows. */
export function cheapestRow(column: Column, rows: readonly number[]): Price | null {
  const best = least(rows, (row) => column.codes[row] || Infinity); // values are in ascending order
  return best !== undefined && column.codes[best] ? { usd: column.number(best)!, row: best } : null;
}

/** The first item with the lowest amount. */
export function least<T>(items: Iterable<T>, amount: (item: T) => number): T | undefined {
  let best: T | undefined;
  let lowest = Infinity;
  for (const item of items) {
    const own = amount(item);
    if (best === undefined || own < lowest) [best, lowest] = [item, own];
  }
  return best;
}

/** The cheapest price of an accelerator over all providers. */
export function lowest(byProvider: ByProvider | undefined, way: string): Price | null {
  const prices = [...(byProvider?.values() ?? [])].map((byWay) => byWay.get(way)).filter((price) => price !== undefined);
  return least(prices, ({ usd }) => usd) ?? null;
}

/** Rows of offers with an accelerator. */
export function offersOf(release: Release, accelerators: ReadonlySet<string>): number[] {
  const device = release.offers.column("accelerator_id");
  const codes = new Set([...accelerators].map((id) => device.code(id)).filter((code) => code > 0));
  return release.deviceRows.filter((row) => codes.has(device.codes[row]!));
}
