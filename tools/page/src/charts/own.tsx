/** Owning a machine against renting as many accelerators. */

import * as Plot from "@observablehq/plot";
import { useMemo } from "preact/hooks";
import type { ViewProps } from "../app";
import { Choose } from "../controls";
import { cheapest, lowest } from "../cheapest";
import { WAYS } from "../prices";
import { integer, percent, usd } from "../format";
import { breakEvenUse, ownedPerHour, type Machine } from "../ownership";
import { seller, type Ownership, type Release } from "../release";
import { Chart, color, TIP } from "./chart";

interface Rented {
  heading: string;
  /** Cloud and machine. */
  offer: string;
  usd: number;
}

interface Choice extends Machine {
  id: string;
  name: string;
  rented: Rented[];
}

interface Line {
  name: string;
  use: number;
  usd: number;
}

const OWNED = "var(--ink)";
const STEPS = 60; // points of the curve

const SLIDERS = [
  { name: "utilisation", heading: "Utilization", min: 0.05, max: 1, step: 0.01, text: percent },
  { name: "usd_per_kwh", heading: "USD per kWh", min: 0, max: 0.6, step: 0.01, text: (value: number) => usd(value) },
  { name: "lifetime_years", heading: "Lifetime, years", min: 1, max: 8, step: 1, text: String },
  { name: "pue", heading: "PUE", min: 1, max: 2.5, step: 0.01, text: (value: number) => value.toFixed(2) },
] as const;

export function OwnChart({ release, parameters, change }: ViewProps) {
  const choices = useMemo(() => choicesOf(release), [release]);
  const ownership = ownershipOf(release.facts.ownership, parameters);
  const choice = choices.find(({ id }) => id === parameters.machine) ?? choices[0];
  if (!choice) return null;
  const curve = curveOf(choice, ownership);
  const rented = choice.rented;
  const lines: Line[] = rented.flatMap(({ heading, usd: price }) => [
    { name: heading, use: 0, usd: price },
    { name: heading, use: 1, usd: price },
  ]);
  const now = ownedPerHour(choice, ownership);
  const top = Math.max(...rented.map(({ usd: price }) => price), now) * 1.5;
  return (
    <Chart
      title="Owning vs renting"
      headline={headline(choice, ownership)}
      words={inWords(choice, ownership)}
      inputs={[choice, ownership]}
      legend={[
        { label: "owned", color: OWNED },
        ...rented.map(({ heading, offer }, position) => ({ label: `${heading}: ${offer}`, color: color(position) })),
      ]}
      table={{
        headings: ["How", "USD per hour of use"],
        rows: () => [["Owned", usd(now)], ...rented.map(({ heading, offer, usd: price }) => [`Rented, ${heading}, ${offer}`, usd(price)])],
      }}
      plot={(width) => ({
        width,
        height: 320,
        marginLeft: 56,
        marginRight: 20,
        x: { label: "Share of all hours in which it works →", domain: [0, 1], tickFormat: "%", grid: true },
        y: { label: "↑ USD per hour of use", domain: [0, top], clamp: true, grid: true, tickFormat: (value: number) => `$${integer(value)}` },
        marks: [
          Plot.line(lines, {
            x: "use",
            y: "usd",
            z: "name",
            stroke: (line: Line) => color(rented.findIndex(({ heading }) => heading === line.name)),
            strokeWidth: 2,
          }),
          Plot.line(curve.filter(({ usd: price }) => price <= top), { x: "use", y: "usd", stroke: OWNED, strokeWidth: 3 }),
          ...[-8, 12].map((dy, odd) =>
            Plot.text(
              rented.filter((_, position) => position % 2 === odd),
              { x: 1, y: "usd", text: ({ heading, offer }: Rented) => `${heading}: ${offer}`, textAnchor: "end", dy, stroke: "var(--paper)", strokeWidth: 4, fill: "var(--ink)" },
            ),
          ),
          Plot.ruleX([ownership.utilisation], { stroke: "var(--muted)", strokeDasharray: "3 3" }),
          Plot.dot([{ use: ownership.utilisation, usd: Math.min(now, top) }], {
            x: "use",
            y: "usd",
            r: 6,
            fill: OWNED,
            tip: TIP,
            title: () => `${percent(ownership.utilisation)} use\n${usd(now)} per hour of use`,
          }),
        ],
      })}
    >
      <Choose label="Machine" name="machine" value={choice.id} options={choices.map(({ id, name }) => [id, name])} set={(machine) => change({ machine })} />
      <div class="sliders">
        {SLIDERS.map(({ name, heading, min, max, step, text }) => (
          <label key={name}>
            <span>
              {heading} <b>{text(ownership[name])}</b>
            </span>
            <input
              type="range"
              name={name}
              min={min}
              max={max}
              step={step}
              value={ownership[name]}
              onInput={(event) => change({ [name]: event.currentTarget.value })}
            />
          </label>
        ))}
      </div>
    </Chart>
  );
}

/** The assumptions of the release, or those in the address where a slider can be there. */
function ownershipOf(assumed: Ownership, parameters: Record<string, string>): Ownership {
  const asked = SLIDERS.flatMap(({ name, min, max }) => {
    const value = Number(parameters[name] || NaN);
    return value >= min && value <= max ? [[name, value]] : [];
  });
  return { ...assumed, ...Object.fromEntries(asked) };
}

/** Complete machines with a price in USD and a known power, whose accelerator a cloud rents out. */
function choicesOf(release: Release): Choice[] {
  const prices = cheapest(release);
  const choices = release.facts.machines_to_buy.flatMap((row) => {
    const watts = row.max_power_w ?? row.power_estimate_w;
    const isPriced = row.complete && row.price_currency === "USD" && typeof row.price === "number";
    if (!isPriced || typeof watts !== "number") return [];
    const count = Number(row.accelerator_count);
    const rented = WAYS.flatMap(({ column, heading }) => {
      const price = lowest(prices.get(String(row.accelerator_id)), column);
      if (!price) return [];
      const offer = `${seller(release, price.row)} ${release.offers.column("instance_type").text(price.row)}`;
      return [{ heading, offer, usd: price.usd * count }];
    });
    if (rented.length === 0) return [];
    return [{ id: String(row.device_id), name: String(row.name), price: row.price as number, watts, rented }];
  });
  return choices.sort((one, other) => Number(other.id.includes("h100")) - Number(one.id.includes("h100")));
}

function curveOf(machine: Machine, ownership: Ownership): Line[] {
  return Array.from({ length: STEPS }, (_, step) => {
    const use = (step + 1) / STEPS;
    return { name: "owned", use, usd: ownedPerHour(machine, { ...ownership, utilisation: use }) };
  });
}

function headline(choice: Choice, ownership: Ownership): string {
  const [first] = choice.rented;
  const use = breakEvenUse(choice, ownership, first!.usd);
  const against = `${first!.heading.toLowerCase()} ${first!.offer} at ${usd(first!.usd)}`;
  return use === null || use > 1 ? `A ${choice.name} never pays back against ${against}.` : `A ${choice.name} breaks even at ${percent(use)} utilization against ${against}.`;
}

function inWords(choice: Choice, ownership: Ownership): string {
  const now = ownedPerHour(choice, ownership);
  const comparisons = choice.rented.map(({ heading, usd: price }) => {
    const use = breakEvenUse(choice, ownership, price);
    const when = use === null || use > 1 ? "never pays" : `pays above ${percent(use)} use`;
    return `against ${heading.toLowerCase()} at ${usd(price)} it ${when}`;
  });
  return (
    `A ${choice.name} for ${usd(choice.price)} costs its owner ${usd(now)} per hour of use: the price spread over` +
    ` ${ownership.lifetime_years} years, and electricity. Compared with the cheapest offers of as many accelerators in` +
    ` data centers, ${comparisons.join("; ")}. Space, people, network, repair and resale are left out.`
  );
}
