/** How the cheapest on-demand price of an accelerator moved from release to release. */

import * as Plot from "@observablehq/plot";
import { useMemo } from "preact/hooks";
import type { ViewProps } from "../app";
import { least } from "../cheapest";
import { Choose } from "../controls";
import { day, usd } from "../format";
import type { Table } from "../payload";
import type { Release } from "../release";
import { Chart, color, legendOf, TIP } from "./chart";
import { soldFamilies, type Family } from "./rent";

interface Interval {
  provider: string;
  region: string;
  machine: string;
  usd: number;
  from: number;
  to: number;
  reason: string;
}

interface Step {
  provider: string;
  time: Date;
  usd: number;
  machine: string;
  region: string;
  restated: boolean;
}

export function HistoryChart({ release, parameters, change, history }: ViewProps & { history: Table }) {
  const families = useMemo(() => soldFamilies(release), [release]);
  const family = families.find(({ id }) => id === parameters.device) ?? families[0];
  const steps = useMemo(() => (family ? stepsOf(release, history, family) : []), [family]);
  if (!family) return null;
  const providers = [...new Set(steps.map(({ provider }) => provider))];
  const stroke = ({ provider }: Step) => color(providers.indexOf(provider));
  const restated = steps.filter((step) => step.restated);
  return (
    <Chart
      title={`On-demand ${family.name} over time`}
      headline={headline(family, steps)}
      words={inWords(family, steps, restated.length)}
      inputs={[steps]}
      legend={legendOf(providers)}
      table={{
        headings: ["Provider", "Since", "$/GPU-h", "Machine", "Region", "Why"],
        rows: () => steps.map((step) => [
          step.provider,
          day(step.time.toISOString()),
          usd(step.usd),
          step.machine,
          step.region,
          step.restated ? "restated: our reading changed" : "",
        ]),
      }}
      plot={(width) => ({
        width,
        height: 320,
        marginLeft: 52,
        x: { label: null, type: "utc" },
        y: { label: "↑ $/GPU-h", grid: true, zero: true, nice: true, tickFormat: (value: number) => `$${value}` },
        marks: [
          Plot.line(steps, { x: "time", y: "usd", z: "provider", stroke, strokeWidth: 2, curve: "step-after" }),
          Plot.dot(restated, { x: "time", y: "usd", r: 7, stroke: "var(--ink)", fill: "none", strokeDasharray: "2 2" }),
          Plot.dot(steps, {
            x: "time",
            y: "usd",
            r: 3.5,
            fill: stroke,
            tip: TIP,
            title: (step: Step) =>
              `${usd(step.usd)}/h  ${step.provider}\n${step.machine}, ${step.region}\n${day(step.time.toISOString())}${step.restated ? "\nrestated: our reading changed" : ""}`,
          }),
        ],
      })}
    >
      <Choose label="Accelerator" name="device" value={family.id} options={families.map(({ id, name }) => [id, name])} set={(device) => change({ device })} />
    </Chart>
  );
}

/** Per provider: each time at which its cheapest offer changed, and today. */
function stepsOf(release: Release, history: Table, family: Family): Step[] {
  const now = Date.parse(release.facts.about.created_at);
  const byProvider = Map.groupBy(intervalsOf(release, history, family), ({ provider }) => provider);
  return [...byProvider].flatMap(([provider, intervals]) => {
    const times = [...new Set([...intervals.flatMap(({ from, to }) => [from, to]), now])].filter((time) => time <= now);
    const steps: Step[] = [];
    for (const time of times.sort((one, other) => one - other)) {
      const valid = intervals.filter(({ from, to }) => from <= time && time < to);
      if (valid.length === 0) continue;
      const best = least(valid, ({ usd: price }) => price)!;
      const before = steps[steps.length - 1];
      if (before && before.usd === best.usd && time !== now) continue;
      const restated = best.from === time && best.reason.includes("restated");
      steps.push({ provider, time: new Date(time), usd: best.usd, machine: best.machine, region: best.region, restated });
    }
    return steps;
  });
}

function intervalsOf(release: Release, history: Table, family: Family): Interval[] {
  const text = (name: string, row: number) => history.column(name).text(row);
  const intervals: Interval[] = [];
  for (let row = 0; row < history.rows; row++) {
    if (!family.ids.has(text("accelerator_id", row))) continue;
    const end = text("valid_to", row);
    intervals.push({
      provider: release.sellerTitle(text("provider", row), text("region", row)),
      region: text("region", row),
      machine: text("instance_type", row),
      usd: history.column("usd").number(row)!,
      from: Date.parse(text("valid_from", row)),
      to: end ? Date.parse(end) : Infinity,
      reason: text("start_reason", row),
    });
  }
  return intervals;
}

function headline({ name }: Family, steps: Step[]): string {
  const [first] = steps;
  if (!first) return `No price of an ${name} has a history yet.`;
  const own = steps.filter(({ provider }) => provider === first.provider);
  const last = own[own.length - 1]!;
  return `The cheapest ${name} at ${first.provider}: ${usd(first.usd)} on ${day(first.time.toISOString())}, ${usd(last.usd)} now.`;
}

function inWords(family: Family, steps: Step[], restated: number): string {
  const parts = [...Map.groupBy(steps, ({ provider }) => provider)].map(([provider, own]) => {
    const [first, last] = [own[0]!, own[own.length - 1]!];
    if (first.usd === last.usd) return `${provider} ${usd(last.usd)}, as on ${day(first.time.toISOString())}`;
    return `${provider} from ${usd(first.usd)} on ${day(first.time.toISOString())} to ${usd(last.usd)}`;
  });
  const note = restated > 0 ? " A dashed ring is a restatement: our reading changed, and not the vendor's price." : "";
  return `The cheapest offer of each provider, in USD per ${family.name} and hour: ${parts.join("; ")}.${note}`;
}
