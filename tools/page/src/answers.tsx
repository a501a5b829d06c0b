/** The view "Recommend": what `hwprices recommend` answers about models that many ask for. */

import type { ViewProps } from "./app";
import { Choose } from "./controls";
import { estimate, integer, money, number, usd } from "./format";
import { acceleratorPage, machinePage } from "./links";
import { hoursOfUse } from "./ownership";
import type { Release } from "./release";

export interface AnsweredModel {
  model_id: string;
  name: string;
  assumed: string;
}

interface Column {
  heading: string;
  unit: string;
  text: (release: Release, row: number) => string;
}

const figure = (heading: string, unit: string, column: string, text: (value: number) => string): Column => ({
  heading,
  unit,
  text: ({ answers }, row) => {
    const value = answers.column(column).number(row);
    return value === null ? "" : text(value);
  },
});

const PRICE: Column = {
  heading: "$/1M tokens",
  unit: "input and output",
  text: ({ answers }, row) => {
    const [low, high] = ["_low", ""].map((end) => answers.column(`usd_per_million_tokens${end}`).number(row));
    return low == null || high == null ? "" : `${estimate(low)}–${estimate(high).slice(1)}`;
  },
};

/** The range of a price, drawn on the scale of its list. */
function PriceRange({ release: { answers }, row, most }: { release: Release; row: number; most: number }) {
  const [low, high] = ["_low", ""].map((end) => answers.column(`usd_per_million_tokens${end}`).number(row));
  if (low == null || high == null || most === 0) return null;
  return (
    <span class="range-bar" aria-hidden="true">
      <span style={{ left: `${(low / most) * 100}%`, width: `${Math.max(2, ((high - low) / most) * 100)}%` }} />
    </span>
  );
}

const SERVING: Column[] = [
  PRICE,
  figure("Input", "$/1M", "usd_per_million_input_tokens", estimate),
  figure("Output", "$/1M", "usd_per_million_output_tokens", estimate),
  figure("$/h", "all", "usd_per_hour", usd),
  figure("tok/s", "cautious", "tokens_per_second_low", number),
  figure("Users", "concurrent", "concurrency", number),
  figure("TTFT", "seconds", "seconds_to_first_token", number),
  figure("gCO₂e", "1M tokens", "gco2e_per_million_tokens", number),
];

const BUYING: Column[] = [
  figure("USD", "to buy", "purchase_price_usd", (value) => `$${money(value)}`),
  { heading: "Price of", unit: "year", text: ({ answers }, row) => answers.column("purchase_price_date").text(row).slice(0, 4) },
  {
    heading: "Payback",
    unit: "hours of this work",
    text: ({ answers, facts }, row) => {
      if (answers.column("rent_usd_per_hour").number(row) === null) return "";
      const hours = answers.column("payback_hours").number(row);
      if (hours === null) return "never";
      return hours > hoursOfUse(facts.ownership) ? `not within ${facts.ownership.lifetime_years} years` : number(hours);
    },
  },
];

export function WhichMachine({ release, parameters, change }: ViewProps) {
  const models = release.facts.recommend;
  const model = models.find(({ model_id: id }) => id === parameters.model) ?? models[0]!;
  const of = (where: string) => release.answers.where({ model_id: model.model_id, where });
  return (
    <section class="answer" aria-label="The answer">
      <h1 class="hidden">Recommend</h1>
      <p class="words" role="status">
        {headline(release, model.name, of("cloud")[0])}
      </p>
      <Choose label="Model" name="model" value={model.model_id} options={models.map(({ model_id: id, name }) => [id, name])} set={(id) => change({ model: id })} />
      <ul class="chips assumed" aria-label="Assumed">
        {model.assumed.split("; ").map((part) => (
          <li key={part}>{part}</li>
        ))}
      </ul>
      <p class="hint">
        A speed is <b>measured</b> (this model on this accelerator) or <b>modeled</b>; half of all
        measurements are within the range of a price, and its upper end ranks.
      </p>
      <List release={release} title="To rent" rows={of("cloud")} columns={SERVING} />
      <List release={release} title="To buy" rows={of("local")} columns={[...BUYING, ...SERVING.filter(({ unit }) => unit !== "$/1M")]} />
      <h2>In a terminal</h2>
      <pre>hwprices recommend {model.model_id}</pre>
      <p class="hint">
        It answers about other models, users, places, budgets, batches and trainings (<code>hwprices recommend --help</code>).
      </p>
    </section>
  );
}

function headline(release: Release, model: string, row: number | undefined): string {
  if (row === undefined) return `No machine of this release serves ${model} as assumed.`;
  const { answers } = release;
  const nodes = answers.column("nodes").number(row)!;
  const place = `${release.providerTitle(answers.column("provider").text(row))}, ${answers.column("region").text(row)}`;
  const speed = number(answers.column("tokens_per_second_per_user").number(row)!);
  return `Serve ${model} on ${nodes > 1 ? `${integer(nodes)} × ` : ""}${answers.column("machine").text(row)} (${place}): ${PRICE.text(release, row)} per 1M tokens at ${speed} tok/s per user.`;
}

interface ListProps {
  release: Release;
  title: string;
  rows: number[];
  columns: Column[];
}

function List({ release, title, rows: shown, columns }: ListProps) {
  if (shown.length === 0) return null;
  const { answers } = release;
  const most = Math.max(0, ...shown.map((row) => answers.column("usd_per_million_tokens").number(row) ?? 0));
  const filled = columns.filter(({ text }) => shown.some((row) => text(release, row) !== ""));
  return (
    <>
      <h2>{title}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${title}, scrollable`}>
        <table>
          <caption class="hidden">Machines {title.toLowerCase()}, best first</caption>
          <thead>
            <tr>
              <th class="figure">#</th>
              <th>Machine</th>
              {filled.map(({ heading, unit }) => (
                <th class="figure" key={heading}>
                  {heading}
                  <small>{unit}</small>
                </th>
              ))}
              <th>Evidence</th>
              <th>Accelerators</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row, position) => (
              <tr key={row}>
                <td class="figure muted">{position + 1}</td>
                <th scope="row" class="machine">
                  <Name release={release} row={row} />
                </th>
                {filled.map(({ heading, text }) => (
                  <td class="figure" key={heading}>
                    {text(release, row)}
                    {heading === PRICE.heading && <PriceRange release={release} row={row} most={most} />}
                  </td>
                ))}
                <td title={answers.column("measurement").text(row) || undefined}>
                  {answers.column("basis").text(row)}
                  <small class="muted">{answers.column("precision").text(row).toUpperCase()} weights</small>
                </td>
                <td>
                  <Accelerators release={release} row={row} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Name({ release, row }: { release: Release; row: number }) {
  const text = (column: string) => release.answers.column(column).text(row);
  const nodes = release.answers.column("nodes").number(row)!;
  const local = text("where") === "local";
  return (
    <>
      {nodes > 1 && <b>{integer(nodes)} × </b>}
      {local ? release.localName(text("machine")) : <a href={machinePage(text("provider"), text("machine"))}>{text("machine")}</a>}{" "}
      <small class="muted">{local ? text("provider") : `${release.providerTitle(text("provider"))}, ${text("region")}`}</small>
    </>
  );
}

function Accelerators({ release, row }: { release: Release; row: number }) {
  const id = release.answers.column("accelerator_id").text(row);
  const count = release.answers.column("total_accelerators").number(row);
  return (
    <>
      {count !== null && `${number(count)} × `}
      <a href={acceleratorPage(id)}>{String(release.accelerators.get(id)?.name ?? id)}</a>
    </>
  );
}
