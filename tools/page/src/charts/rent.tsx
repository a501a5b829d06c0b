/** What one accelerator costs for an hour: by cloud, region and purchase option. */

import * as Plot from "@observablehq/plot";
import { useMemo } from "preact/hooks";
import type { ViewProps } from "../app";
import { Choose } from "../controls";
import { least, offersOf } from "../cheapest";
import { perGpu, WAYS } from "../prices";
import { BY_NAME, usd } from "../format";
import { communityTitle, type Release } from "../release";
import { Chart, color, TIP } from "./chart";

interface Point {
  provider: string;
  way: string;
  usd: number;
  region: string;
  machine: string;
  device: string;
}

export interface Family {
  id: string;
  name: string;
  ids: Set<string>;
}

const LEAST_MARGIN = 150; // pixels, for the names of the lines
const LETTER = 7.2; // pixels, about, of a letter of these names
const TICK = 10; // pixels between a name and its line

const MAX_POINTS = 1500; // dots of one chart; beyond that only the cheapest machine of each region

export function RentChart({ release, parameters, change }: ViewProps) {
  const families = useMemo(() => soldFamilies(release), [release]);
  const family = families.find(({ id }) => id === parameters.device) ?? families[0];
  const points = useMemo(() => (family ? pointsOf(release, family) : []), [family]);
  if (!family) return null;
  const used = new Set(points.flatMap((point) => [point.way, line(point)]));
  const ways = WAYS.map(({ heading }) => heading).filter((way) => used.has(way));
  const titles = release.providerIds.map((id) => release.providerTitle(id));
  const lines = titles
    .flatMap((title) => [title, communityTitle(title)])
    .flatMap((provider) => ways.map((way) => line({ provider, way })).filter((name) => used.has(name)));
  return (
    <Chart
      title={`What one ${family.name} costs per hour`}
      headline={headline(family, points)}
      words={inWords(family, points)}
      inputs={[points]}
      legend={ways.map((label) => ({ label, color: wayColor(label) }))}
      table={{
        headings: ["Provider", "Region", "Machine", "Purchase option", "$/GPU-h"],
        rows: () => [...points]
          .sort((one, other) => one.usd - other.usd)
          .map(({ provider, region, machine, way, usd: price }) => [provider, region, machine, way, usd(price)]),
      }}
      plot={(width) => ({
        width,
        marginLeft: Math.max(LEAST_MARGIN, ...lines.map(({ length }) => length * LETTER + TICK)),
        marginRight: 16,
        height: 60 + lines.length * 26,
        x: { label: "$/GPU-h →", grid: true, zero: true, nice: true, tickFormat: (value: number) => `$${value}` },
        y: { label: null, domain: lines, grid: true },
        marks: [
          Plot.dot(points, {
            x: "usd",
            y: line,
            r: width < 500 ? 3.5 : 4.5,
            fill: (point: Point) => wayColor(point.way),
            fillOpacity: 0.55,
            tip: TIP,
            title: ({ machine, region, provider, way, usd: price, device }: Point) =>
              `${usd(price)}/h  ${device}\n${machine}\n${provider}, ${region}\n${way}`,
          }),
        ],
      })}
    >
      <Choose label="Accelerator" name="device" value={family.id} options={families.map(({ id, name }) => [id, name])} set={(device) => change({ device })} />
    </Chart>
  );
}

/** The line of the chart that a dot is in. */
function line({ provider, way }: { provider: string; way: string }): string {
  return `${provider}, ${way.toLowerCase()}`;
}

function wayColor(way: string): string {
  return color(WAYS.findIndex(({ heading }) => heading === way));
}

/** Accelerators that are sold, those of one name in all their forms together: H100 is SXM and NVL. */
export function soldFamilies(release: Release): Family[] {
  const device = release.offers.column("accelerator_id");
  const priced = new Set<string>();
  const perDevice = release.offers.column("usd_per_accelerator_hour");
  for (const row of release.deviceRows) if (perDevice.codes[row] !== 0) priced.add(device.text(row));
  const families = new Map<string, Family>();
  for (const id of priced) {
    const row = release.accelerators.get(id);
    const key = familyOf(id);
    const name = String(row?.name ?? id);
    const family = families.get(key);
    if (family) {
      family.ids.add(id);
      family.name = common(family.name, name);
    } else families.set(key, { id: key, name, ids: new Set([id]) });
  }
  return [...families.values()].sort((one, other) => order(one) - order(other) || BY_NAME.compare(one.name, other.name));
}

/** An id as far as its first part with a digit, which is the model: nvidia-h100, nvidia-rtx-4090, google-tpu-v5e. */
function familyOf(id: string): string {
  const parts = id.split("-");
  const model = parts.findIndex((part) => /\d/.test(part));
  return model < 0 ? id : parts.slice(0, model + 1).join("-");
}

/** The H100 first: every provider rents it out. */
function order({ id }: Family): number {
  return id === "nvidia-h100" ? 0 : 1;
}

/** The words that two names begin with. */
function common(one: string, other: string): string {
  const [words, others] = [one.split(" "), other.split(" ")];
  const different = words.findIndex((word, position) => word !== others[position]);
  return different > 0 ? words.slice(0, different).join(" ") : one;
}

function pointsOf(release: Release, family: Family): Point[] {
  const points = offersOf(release, family.ids).flatMap((row) => {
    const [provider, region, machine, device] = release.offers.texts(row, "provider", "region", "instance_type", "accelerator_name") as [string, string, string, string];
    return WAYS.flatMap(({ column, heading }) => {
      const price = perGpu(release, column).number(row);
      return price === null ? [] : [{ provider: release.sellerTitle(provider, region), way: heading, usd: price, region, machine, device }];
    });
  });
  return points.length > MAX_POINTS ? cheapestOfRegion(points) : points;
}

function cheapestOfRegion(points: Point[]): Point[] {
  const groups = Map.groupBy(points, ({ provider, region, way }) => `${provider}|${region}|${way}`);
  return [...groups.values()].map((group) => least(group, ({ usd: price }) => price)!);
}

function inWords(family: Family, points: Point[]): string {
  const providers = Map.groupBy(points, ({ provider }) => provider);
  const parts = [...providers].map(([provider, own]) => {
    const onDemand = own.filter(({ way }) => way === WAYS[0].heading).map(({ usd: price }) => price);
    const spot = own.filter(({ way }) => way === "Spot").map(({ usd: price }) => price);
    const between = onDemand.length > 0 ? `${span(onDemand)} on demand` : "no on-demand price";
    return `${provider} ${between}${spot.length > 0 ? `, spot from ${usd(Math.min(...spot))}` : ""}`;
  });
  return `Each dot is an offer, in USD per ${family.name} and hour. ${parts.join("; ")}.`;
}

function headline({ name }: Family, points: Point[]): string {
  const cheapest = (way: string) =>
    least(points.filter((point) => point.way === way && !/community$/.test(point.provider)), ({ usd: price }) => price);
  const [onDemand, spot] = [cheapest(WAYS[0].heading), cheapest(WAYS[1].heading)];
  const at = ({ usd: price, provider, region }: Point) => `${usd(price)} at ${provider}, ${region}`;
  if (!onDemand) return `No cloud of this release has an on-demand ${name}.`;
  return `The cheapest on-demand ${name} is ${at(onDemand)}${spot ? `; spot from ${at(spot)}` : ""}.`;
}

function span(prices: number[]): string {
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  return usd(low) === usd(high) ? usd(low) : `${usd(low)} to ${usd(high)}`;
}
