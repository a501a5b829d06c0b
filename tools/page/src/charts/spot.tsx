/** How much of the on-demand price spot costs. */

import * as Plot from "@observablehq/plot";
import { useMemo } from "preact/hooks";
import type { ViewProps } from "../app";
import { percent } from "../format";
import { isSpotFlagged } from "../prices";
import type { Release } from "../release";
import { Chart, color, legendOf, TIP } from "./chart";

interface Range {
  device: string;
  provider: string;
  low: number;
  middle: number;
  high: number;
  offers: number;
  /** Whether all of them are flagged: the vendor lists the on-demand price as its spot price. */
  flagged: boolean;
}

export function SpotChart({ release }: ViewProps) {
  const ranges = useMemo(() => rangesOf(release), [release]);
  const providers = release.providerIds.map((id) => release.providerTitle(id));
  const used = providers.filter((name) => ranges.some(({ provider }) => provider === name));
  const devices = [...new Set(ranges.map(({ device }) => device))];
  const fill = ({ provider }: Range) => color(used.indexOf(provider));
  return (
    <Chart
      title="Spot vs on-demand"
      headline={headline(ranges)}
      words={inWords(ranges)}
      inputs={[ranges]}
      legend={legendOf(used)}
      table={{
        headings: ["Accelerator", "Provider", "Lowest", "Median", "Highest", "Offers", "Flag"],
        rows: () => ranges.map(({ device, provider, low, middle, high, offers, flagged }) => [
          device,
          provider,
          percent(low),
          percent(middle),
          percent(high),
          offers,
          flagged ? FLAGGED : "",
        ]),
      }}
      plot={(width) => ({
        width,
        height: 60 + devices.length * 22,
        marginLeft: width < 500 ? 130 : 210,
        marginRight: 20,
        x: { label: "Spot price as a share of the on-demand price →", percent: true, grid: true, zero: true },
        y: { label: null, domain: devices, tickFormat: (name: string) => shortened(name, width < 500 ? 18 : 30) },
        marks: [
          Plot.ruleX([1], { stroke: "var(--muted)", strokeDasharray: "3 3" }),
          Plot.ruleY(ranges, { y: "device", x1: "low", x2: "high", stroke: fill, strokeWidth: 3, strokeOpacity: 0.35 }),
          Plot.dot(ranges, {
            y: "device",
            x: "middle",
            r: 5,
            fill: (range: Range) => (range.flagged ? "var(--paper)" : fill(range)),
            stroke: fill,
            strokeWidth: 2,
            symbol: (range: Range) => (range.flagged ? "times" : "circle"),
            tip: TIP,
            title: ({ device, provider, low, middle, high, offers, flagged }: Range) =>
              `${device}, ${provider}${flagged ? `\n⚑ ${FLAGGED}` : ""}\nmedian ${percent(middle)} of on demand\n${percent(low)} to ${percent(high)}, ${offers} offers`,
          }),
        ],
      })}
    />
  );
}

function shortened(name: string, letters: number): string {
  return name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
}

function rangesOf(release: Release): Range[] {
  const { offers } = release;
  const columns = ["accelerator_name", "provider", "spot_usd_per_hour", "on_demand_usd_per_hour"] as const;
  const [device, provider, spot, onDemand] = columns.map((name) => offers.column(name));
  const shares = new Map<string, number[]>();
  const honest = new Set<string>();
  for (const row of release.deviceRows) {
    if (spot!.codes[row] === 0 || onDemand!.codes[row] === 0) continue;
    const key = `${device!.text(row)}\n${provider!.text(row)}`;
    const share = spot!.number(row)! / onDemand!.number(row)!;
    if (!isSpotFlagged(release, row)) honest.add(key);
    const list = shares.get(key);
    if (list) list.push(share);
    else shares.set(key, [share]);
  }
  return [...shares]
    .map(([key, values]) => {
      const [name = "", id = ""] = key.split("\n");
      const ascending = values.sort((one, other) => one - other);
      const last = ascending.length - 1;
      const middle = (ascending[Math.floor(last / 2)]! + ascending[Math.ceil(last / 2)]!) / 2;
      return { device: name, provider: release.providerTitle(id), low: ascending[0]!, middle, high: ascending[last]!, offers: values.length, flagged: !honest.has(key) };
    })
    .sort((one, other) => one.middle - other.middle);
}

const FLAGGED = "flagged: the vendor lists the on-demand price as its spot price";

function headline(ranges: Range[]): string {
  const first = ranges.find(({ flagged }) => !flagged);
  if (!first) return "No machine with accelerators has both a spot and an on-demand price.";
  const flagged = ranges.filter((range) => range.flagged).length;
  return `Spot saves most on ${first.device} at ${first.provider}: ${percent(first.middle)} of on-demand.${flagged > 0 ? " × marks flagged prices." : ""}`;
}

function inWords(ranges: Range[]): string {
  if (ranges.length === 0) return "No machine with accelerators has both a spot and an on-demand price.";
  const [first, last] = [ranges[0]!, ranges[ranges.length - 1]!];
  return (
    "A dot is the median over regions and machines, a line reaches from the lowest to the highest." +
    ` Spot costs least for ${first.device} at ${first.provider} (${percent(first.middle)} of it),` +
    ` and most for ${last.device} at ${last.provider} (${percent(last.middle)}). Spot machines can be taken away at any time.`
  );
}
