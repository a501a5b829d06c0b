/** What computing costs against how much of it a watt gives. */

import * as Plot from "@observablehq/plot";
import { useMemo } from "preact/hooks";
import type { ViewProps } from "../app";
import { Switch } from "../controls";
import { cheapest, lowest } from "../cheapest";
import { WAYS } from "../prices";
import { number, usd } from "../format";
import type { Release } from "../release";
import { Chart, color, legendOf, TIP } from "./chart";

const FORMATS = { bf16: "BF16", fp16: "FP16", fp8: "FP8" } as const;
type Format = keyof typeof FORMATS;

const LETTER = 7; // pixels, about, of a letter and of a line of the names
const LINE = 14;

interface Point {
  name: string;
  maker: string;
  price: number;
  perWatt: number;
}

export function ValueChart({ release, parameters, change }: ViewProps) {
  const format: Format = parameters.format && Object.hasOwn(FORMATS, parameters.format) ? (parameters.format as Format) : "bf16";
  const points = useMemo(() => pointsOf(release, format), [format]);
  const makers = [...new Set(points.map(({ maker }) => maker))].sort();
  return (
    <Chart
      title={`Price vs efficiency, ${FORMATS[format]}`}
      headline={headline(points, FORMATS[format])}
      words={inWords(points, FORMATS[format])}
      inputs={[points]}
      legend={legendOf(makers)}
      table={{
        headings: ["Accelerator", "Maker", "$/PFLOPS-h", "TFLOPS/W"],
        rows: () => [...points]
          .sort((one, other) => one.price - other.price)
          .map(({ name, maker, price, perWatt }) => [name, maker, usd(price), number(perWatt)]),
      }}
      plot={(width) => ({
        width,
        height: Math.min(440, Math.max(320, width * 0.6)),
        marginLeft: 48,
        marginRight: width < 500 ? 24 : 120,
        insetTop: 14,
        insetBottom: 14,
        x: { label: "TFLOPS/W, dense peak and TDP →", grid: true, type: "linear", nice: true },
        y: { label: "↑ $/PFLOPS-h, on-demand (log)", grid: true, type: "log", ticks: 5, tickFormat: (value: number) => `$${value}` },
        marks: [
          Plot.line(frontier(points), { x: "perWatt", y: "price", stroke: "var(--muted)", strokeDasharray: "4 3" }),
          Plot.dot(frontier(points), { x: "perWatt", y: "price", r: 8, stroke: "var(--ink)", fill: "none" }),
          Plot.dot(points, {
            x: "perWatt",
            y: "price",
            r: 5,
            fill: (point: Point) => color(makers.indexOf(point.maker)),
            tip: TIP,
            title: ({ name, price, perWatt }: Point) =>
              `${name}\n${usd(price)} per PFLOPS and hour\n${number(perWatt)} TFLOPS/W`,
          }),
          Plot.text(labelled(points, width), { x: "perWatt", y: "price", text: shortName, dx: 12, textAnchor: "start", stroke: "var(--paper)", strokeWidth: 4, fill: "var(--ink)" }),
        ],
      })}
    >
      <Switch legend="Number format" name="format" choices={FORMATS} value={format} set={(id) => change({ format: id })} />
    </Chart>
  );
}

function pointsOf(release: Release, format: Format): Point[] {
  const prices = cheapest(release);
  return [...release.accelerators].flatMap(([id, row]) => {
    const price = lowest(prices.get(id), WAYS[0].column);
    const [rate, watts] = [row[`${format}_dense_tflops`], row.tdp_w];
    if (!price || typeof rate !== "number" || typeof watts !== "number" || rate === 0) return [];
    return [{ name: String(row.name), maker: String(row.vendor), price: (price.usd / rate) * 1000, perWatt: rate / watts }];
  });
}

/** The name without what is in brackets, for which the chart has no room. */
function shortName({ name }: Pick<Point, "name">): string {
  return name.replace(/ \(.*\)$/, "");
}

/** Accelerators that no other beats in both price and efficiency, by efficiency. */
function frontier(points: Point[]): Point[] {
  const isBeaten = (point: Point) => points.some((other) => other !== point && other.price <= point.price && other.perWatt >= point.perWatt);
  return points.filter((point) => !isBeaten(point)).sort((one, other) => one.perWatt - other.perWatt);
}

/** The frontier has its names; other names that would lie on names are left to the tip and the table. */
function labelled(points: Point[], width: number): Point[] {
  const highest = Math.max(...points.map(({ perWatt }) => perWatt));
  const logs = points.map(({ price }) => Math.log(price));
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  const box = ({ perWatt, price, name }: Point) => {
    const left = (perWatt / highest) * (width - 170);
    const top = ((high - Math.log(price)) / (high - low || 1)) * 260;
    return { left, right: left + 20 + shortName({ name }).length * LETTER, top, bottom: top + LINE };
  };
  const shown = frontier(points);
  for (const point of [...points].sort((one, other) => other.perWatt - one.perWatt)) {
    if (shown.includes(point)) continue;
    const own = box(point);
    const dots = points.filter((other) => other !== point).map((other) => ({ ...box(other), right: box(other).left + 12 }));
    const isFree = [...shown.map(box), ...dots].every(
      (other) => own.right < other.left || own.left > other.right || own.bottom < other.top || own.top > other.bottom,
    );
    if (isFree) shown.push(point);
  }
  return shown;
}

function headline(points: Point[], format: string): string {
  const best = frontier(points);
  if (best.length === 0) return `No accelerator of this release has a price, a dense ${format} rate and a published power.`;
  const [cheap, frugal] = [best[0]!, best[best.length - 1]!];
  if (cheap === frugal) return `${cheap.name} is both the cheapest and the most efficient: ${usd(cheap.price)}/PFLOPS-h.`;
  return `${cheap.name} computes cheapest (${usd(cheap.price)}/PFLOPS-h), ${frugal.name} most efficiently (${number(frugal.perWatt)} TFLOPS/W).`;
}

function inWords(points: Point[], format: string): string {
  if (points.length === 0) return `No accelerator of this release has a price, a dense ${format} rate and a published power.`;
  const best = frontier(points);
  const [cheap, frugal] = [best[0]!, best[best.length - 1]!];
  return (
    `The lower and the further right, the better. Of ${points.length} accelerators with a price, a dense rate and a` +
    ` published power, ${cheap.name} computes for the least money (${usd(cheap.price)} per PFLOPS and hour) and` +
    ` ${frugal.name} with the least power (${number(frugal.perWatt)} TFLOPS/W). Peak rates: real work reaches a part of them.`
  );
}
