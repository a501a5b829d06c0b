/** The view "Which machine": the questions of `hwprices recommend` as a form, and its answer. */

import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { save } from "../csv";
import { integer, money, number, percent, usd } from "../format";
import { acceleratorPage, machinePage } from "../links";
import { hoursOfUse } from "../ownership";
import { offerKey, type Ownership, type Release } from "../release";
import { answer, placesWithoutOffers, understood, type Machine } from "./answer";
import { Form } from "./form";
import { command, type Question } from "./question";
import { sentence } from "./reasons";

const FIRST_SHOWN = 12; // machines of each list, before the reader asks for all

export function WhichMachine({ release, parameters, change }: ViewProps) {
  const { knowledge } = release;
  const question = understood(release, parameters);
  const asked = JSON.stringify(parameters);
  const machines = useMemo(() => (typeof question === "string" ? [] : answer(release, knowledge, question)), [asked]);
  return (
    <div class="offers chooser">
      <details class="side" open={matchMedia("(min-width: 60rem)").matches}>
        <summary>The question</summary>
        <Form release={release} parameters={parameters} change={change} />
      </details>
      <section class="answer" aria-label="The answer">
        <h1>Which machine</h1>
        <p class="words" role="status">
          {typeof question === "string" ? question : inWords(release, question, machines)}
        </p>
        {typeof question !== "string" && (
          <>
            {placesWithoutOffers(release, question).map(([place, name]) => (
              <p key={place}>
                This release has no offer of {place} {name}.
              </p>
            ))}
            <p class="hint">
              Assumed: {assumptions(release, question)}. A speed is <b>measured</b> (this model on this accelerator), <b>scaled</b>{" "}
              from another measurement of it, or <b>modelled</b>; the ± is how far such figures were from measurements.
            </p>
            <Rented release={release} question={question} machines={machines} />
            <Bought release={release} question={question} machines={machines} />
            <LeftOut question={question} machines={machines} />
            <h2>The same in a terminal</h2>
            <pre>{command(parameters)}</pre>
            <p class="hint">
              It has more options (<code>hwprices recommend --help</code>): exchange rates, own discounts, your grid. How
              speeds are computed, and how far they were from measurements, stands in the documentation under Method.
            </p>
            <button type="button" onClick={() => save(FILE, csvRows(machines))}>
              CSV
            </button>
          </>
        )}
      </section>
    </div>
  );
}

const FILE = "hwprices-which-machine.csv";

function csvRows(machines: Machine[]): (string | number | null)[][] {
  const names = Object.keys(machines[0] ?? {}).filter((name) => name !== "row") as (keyof Machine)[];
  return [names, ...machines.map((machine) => names.map((name) => machine[name]))];
}

/** The answer in a sentence. */
function inWords(release: Release, question: Question, machines: Machine[]): string {
  const fitting = machines.filter((machine) => machine.rank !== null);
  const best = fitting.find((machine) => machine.where === "cloud") ?? fitting[0];
  if (!best) return `None of ${integer(machines.length)} machines does this. What rules them out stands below.`;
  const nodes = best.nodes! > 1 ? `${integer(best.nodes!)} × ${best.machine}` : best.machine;
  const place = best.where === "cloud" ? ` at ${release.providerTitle(best.provider)} in ${best.region}` : "";
  const cost = best.where === "local" ? ` for ${bought(best)}` : best.usd === null ? "" : ` for ${paid(question, best)}`;
  const basis = best.basis ? `, ${basisText(best)}` : "";
  return `${FIRST[question.objective]}: ${nodes}${place}${cost}${basis}. ${integer(fitting.length)} of ${integer(machines.length)} machines do it.`;
}

const FIRST: Record<Question["objective"], string> = {
  cost: "Cheapest for the work",
  hourly: "Cheapest per hour",
  speed: "Fastest for one user",
  throughput: "Most tokens per second",
  carbon: "Lowest emissions",
};

function bought(machine: Machine): string {
  return machine.purchase_price_usd === null ? "a price not known" : `${usd(machine.purchase_price_usd)} to buy`;
}

function paid(question: Question, machine: Machine): string {
  if (question.training) return `${usd(machine.usd!)} in ${number(machine.hours!)} hours`;
  return `${usd(machine.usd_per_million_tokens!)} per million tokens`;
}

const BASES: Record<string, string> = {
  measured: "measured",
  scaled: "scaled",
  modelled: "modelled",
  unmeasured_family: "modelled",
};

function basisText(machine: Machine): string {
  const error = machine.error === null ? "" : ` ± ${percent(machine.error)}`;
  return `${BASES[machine.basis!] ?? machine.basis}${error}`;
}

/** What the answer takes for granted where nothing is asked. */
function assumptions(release: Release, question: Question): string {
  const { training, users, requests, askedTokensPerSecond: asked, minSpeed } = question;
  const { lifetime_years: years, utilisation, usd_per_kwh: tariff } = release.facts.ownership;
  const owning = `a machine that you buy works ${percent(utilisation)} of the time for ${years} years, at ${usd(tariff)} per kWh`;
  const parts: string[] = [];
  if (training) {
    parts.push(`${integer(training.tokens)} tokens in sequences of ${integer(training.context)}`);
    parts.push(`done in ${number(training.days)} days, ${question.precision} weights, optimizer ${training.optimizer}`);
  } else {
    const source = question.lengthsFrom && ` as in ${question.lengthsFrom}`;
    parts.push(`${integer(question.input)} tokens in, ${integer(question.output)} out${source}`);
    const speed = number(minSpeed ?? release.knowledge.facts.constants.reading_speed);
    if (asked !== null) parts.push(`${number(requests!)} requests/s are ${number(asked)} tokens/s, which costs are divided by`);
    else if (users === null) {
      const measured = question.isVague && question.lengthsFrom ? " (measured speeds have no such floor)" : "";
      parts.push(`as many users at once as a machine holds, at least ${speed} tokens/s each${measured}`);
    }
    if (question.precision === null) parts.push(`weights as measured, else ${question.model.released_format ? "4 bits as released" : "8 bits"}`);
  }
  parts.push(`${question.option.replaceAll("_", " ")} prices in USD`);
  if (question.where !== "local" && !question.community) parts.push("machines of private people left out");
  if (question.where !== "cloud") parts.push(owning);
  return parts.join("; ");
}

interface Column {
  heading: string;
  unit?: string;
  help?: string;
  value: (machine: Machine) => number | null;
  text: (value: number) => string;
  /** Stands below the figure. */
  note?: (machine: Machine) => string;
}

const COST_OF_TOKENS: Column = {
  heading: "USD",
  unit: "million tokens",
  help: "A million tokens of answers, with the prompts that they answer; where requests per second are asked for, of their tokens",
  value: (machine) => machine.usd_per_million_tokens,
  text: usd,
};
const HOUR: Column = { heading: "USD", unit: "hour, all", value: (machine) => machine.usd_per_hour, text: usd };

const SERVING_COLUMNS: Column[] = [
  COST_OF_TOKENS,
  HOUR,
  { heading: "Tokens/s", unit: "all users", value: (machine) => machine.tokens_per_second, text: number },
  { heading: "Users", unit: "at once", value: (machine) => machine.concurrency, text: number },
  { heading: "Tokens/s", unit: "each user", value: (machine) => machine.tokens_per_second_per_user, text: number },
  { heading: "First token", unit: "seconds", value: (machine) => machine.seconds_to_first_token, text: number },
  { heading: "gCO₂e", unit: "million tokens", value: (machine) => machine.gco2e_per_million_tokens, text: number },
];

const TRAINING_COLUMNS: Column[] = [
  { heading: "USD", unit: "in all", value: (machine) => machine.usd, text: usd },
  { heading: "Hours", value: (machine) => machine.hours, text: number },
  HOUR,
  { heading: "Tokens/s", value: (machine) => machine.tokens_per_second, text: number },
  { heading: "kgCO₂e", unit: "in all", value: (machine) => machine.operational_gco2e && machine.operational_gco2e / 1000, text: number },
];

const NEVER = Infinity;

/** The year of the price to buy: many are of the launch. */
function yearOfPrice({ purchase_price_date: date }: Machine): string {
  return date === null ? "" : `in ${date.slice(0, 4)}`;
}

function buyingColumns(ownership: Ownership): Column[] {
  const years = `${ownership.lifetime_years} year${ownership.lifetime_years === 1 ? "" : "s"}`;
  const inItsLife = (hours: number) => (hours > hoursOfUse(ownership) ? `not within ${years}` : number(hours));
  return [
    { heading: "USD", unit: "to buy", value: (machine) => machine.purchase_price_usd, text: (value) => `$${money(value)}`, note: yearOfPrice },
    {
      heading: "Pays after",
      unit: "hours of this work",
      help: "Hours of this work after which it has cost as much as renting the best machine; never where its electricity alone costs more",
      value: (machine) => (machine.rent_usd_per_hour === null ? null : (machine.payback_hours ?? NEVER)),
      text: (hours) => (hours === NEVER ? "never" : inItsLife(hours)),
    },
  ];
}

interface ListProps {
  release: Release;
  question: Question;
  machines: Machine[];
}

function Rented(props: ListProps) {
  const rented = props.machines.filter((machine) => machine.where === "cloud" && machine.rank !== null);
  const columns = props.question.training ? TRAINING_COLUMNS : SERVING_COLUMNS;
  return <List {...props} title="To rent" machines={rented} columns={columns} />;
}

function Bought(props: ListProps) {
  const bought = props.machines.filter((machine) => machine.where === "local" && machine.rank !== null);
  const working = props.question.training ? TRAINING_COLUMNS : SERVING_COLUMNS;
  const hasRent = bought.some((machine) => machine.rent_usd_per_hour !== null);
  return (
    <>
      <List {...props} title="To buy" machines={bought} columns={[...buyingColumns(props.release.facts.ownership), ...working]} />
      {bought.length > 0 && !hasRent && <p class="hint">After how many hours one pays is not known: no machine to rent fits.</p>}
    </>
  );
}

function List({ release, title, machines, columns }: ListProps & { title: string; columns: Column[] }) {
  const [whole, setWhole] = useState(false);
  if (machines.length === 0) return null;
  const shown = whole ? machines : machines.slice(0, FIRST_SHOWN);
  const [first, ...others] = columns.filter(({ value }) => shown.some((machine) => value(machine) !== null));
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
              {first && <Heading column={first} />}
              <th>Rests on</th>
              {others.map((column) => (
                <Heading key={`${column.heading} ${column.unit}`} column={column} />
              ))}
              <th>Accelerators</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((machine) => (
              <tr key={`${machine.provider} ${machine.machine}`}>
                <td class="figure muted">{machine.rank}</td>
                <th scope="row" class="machine">
                  <Name release={release} machine={machine} />
                </th>
                {first && <Figure column={first} machine={machine} />}
                <td title={machine.measurement ?? undefined}>
                  {machine.basis && basisText(machine)}
                  <small class="muted">
                    {machine.basis === "unmeasured_family" && "family not measured, "}
                    {machine.precision && `${machine.precision.toUpperCase()} weights`}
                  </small>
                </td>
                {others.map((column) => (
                  <Figure key={`${column.heading} ${column.unit}`} column={column} machine={machine} />
                ))}
                <td>
                  <Accelerators release={release} machine={machine} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {machines.length > shown.length && (
        <button type="button" class="plain" onClick={() => setWhole(true)}>
          Show all {integer(machines.length)}
        </button>
      )}
    </>
  );
}

function Heading({ column: { heading, unit, help } }: { column: Column }) {
  return (
    <th class="figure" title={help}>
      {heading}
      {unit && <small>{unit}</small>}
    </th>
  );
}

function Figure({ column: { value, text, note }, machine }: { column: Column; machine: Machine }) {
  const figure = value(machine);
  if (figure === null) return <td class="figure" />;
  return (
    <td class="figure">
      {text(figure)}
      {note && <small class="muted">{note(machine)}</small>}
    </td>
  );
}

function Name({ release, machine }: { release: Release; machine: Machine }) {
  const times = machine.nodes! > 1 && <b>{integer(machine.nodes!)} × </b>;
  if (machine.row === null) {
    return (
      <>
        {times}
        {release.localName(machine.machine)} <small class="muted">{machine.provider}</small>
      </>
    );
  }
  return (
    <>
      {times}
      <a href={machinePage(machine.provider, machine.machine)}>{machine.machine}</a>{" "}
      <small class="muted">
        {release.providerTitle(machine.provider)},{" "}
        <a href={`#offers?${new URLSearchParams({ open: offerKey(release.offers, machine.row) })}`}>{machine.region}</a>
        {machine.purchase_option !== "on_demand" && `, ${machine.purchase_option.replaceAll("_", " ")}`}
      </small>
    </>
  );
}

function Accelerators({ release, machine }: { release: Release; machine: Machine }) {
  const name = release.accelerators.get(machine.accelerator_id)?.name ?? machine.accelerator_id;
  const count = machine.total_accelerators;
  return (
    <>
      {count !== null && `${number(count)} × `}
      <a href={acceleratorPage(machine.accelerator_id)}>{String(name)}</a>
    </>
  );
}

/** Why the others are left out: how many for each reason, and which. */
function LeftOut({ question, machines }: { question: Question; machines: Machine[] }) {
  const left = machines.filter((machine) => machine.excluded_reason !== null);
  if (left.length === 0) return null;
  const byReason = [...Map.groupBy(left, (machine) => machine.excluded_reason!)].sort((one, other) => other[1].length - one[1].length);
  return (
    <details class="as-table">
      <summary>{integer(left.length)} machines are left out</summary>
      <dl class="lines left-out">
        {byReason.map(([reason, group]) => (
          <div key={reason}>
            <dt>
              {integer(group.length)} · {sentence(reason, question)}
            </dt>
            <dd>{group.map((machine) => machine.machine).sort().join(", ")}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
