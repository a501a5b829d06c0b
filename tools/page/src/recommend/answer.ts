/** Ranks the machines for a question: hwprices.read.recommend.recommend, which explains the figures. */

import type { Column } from "../payload";
import type { Release } from "../release";
import { estimate } from "./estimates";
import { NO_ESTIMATE, type Estimate, type Knowledge } from "./facts";
import { ask, type Question } from "./question";

export const PRIVATE_HOST = "private_host";

/** A machine in its best region, of all machines that the job needs together. */
export interface Machine extends Estimate {
  where: "cloud" | "local";
  provider: string;
  region: string;
  machine: string;
  accelerator_id: string;
  total_accelerators: number | null;
  /** The row of offers; null for a machine to buy. */
  row: number | null;
  /** What usd_per_hour is the price of. */
  purchase_option: string;
  usd_per_hour: number | null;
  usd: number | null;
  usd_per_month: number | null;
  usd_per_million_tokens: number | null;
  usd_per_million_input_tokens: number | null;
  usd_per_million_output_tokens: number | null;
  operational_gco2e: number | null;
  gco2e_per_million_tokens: number | null;
  purchase_price_usd: number | null;
  /** Day that the price to buy stands for: many are of the launch. */
  purchase_price_date: string | null;
  energy_usd_per_hour: number | null;
  /** Of a machine to buy: what the work that it does in an hour costs on the cheapest machine to rent. */
  rent_usd_per_hour: number | null;
  /** Hours of this work after which the machine has cost as much as that rent; null also where electricity costs more. */
  payback_hours: number | null;
  excluded_reason: string | null;
  /** Among the machines to rent, and apart from them among those to buy; null if left out. */
  rank: number | null;
}

interface Candidate {
  where: "cloud" | "local";
  provider: string;
  region: string;
  machine: string;
  kindNumber: number;
  row: number | null;
  purchase_option: string;
  usdPerHour: number | null;
  purchasePrice: number | null;
  priceDate: string | null;
  energyUsd: number | null;
  gramsPerHour: number | null;
  noPrice: string;
}

/** Reads a question; a sentence says what is wrong with one that has no answer. */
export function understood(release: Release, parameters: Record<string, string>): Question | string {
  const question = ask(release.knowledge, parameters);
  return typeof question === "string" ? question : (unknownPlace(release, question) ?? question);
}

/** The answer to a question given with the names of the command's options; throws where it has none. */
export function recommend(release: Release, parameters: Record<string, string>): Machine[] {
  const question = understood(release, parameters);
  if (typeof question === "string") throw new Error(question);
  return answer(release, release.knowledge, question);
}

export function answer(release: Release, knowledge: Knowledge, question: Question): Machine[] {
  const estimates = new Map<number, Estimate>();
  const rented = offers(release, knowledge, question); // also where none is asked for: rent decides when owning pays
  const candidates = [...rented, ...(question.where === "cloud" ? [] : local(knowledge))];
  const machines = candidates.map((candidate) => {
    let fitted = estimates.get(candidate.kindNumber);
    if (!fitted) {
      fitted = estimateKind(knowledge, question, candidate.kindNumber);
      estimates.set(candidate.kindNumber, fitted);
    }
    return withFigures(knowledge, question, candidate, fitted);
  });
  const answers = withPayback(knowledge, ranked(machines, question), question);
  return question.where ? answers.filter(({ where }) => where === question.where) : answers;
}

function estimateKind(knowledge: Knowledge, question: Question, number: number): Estimate {
  const kind = knowledge.facts.kinds[number - 1]!;
  return kind.obstacle ? NO_ESTIMATE : estimate(knowledge, question, kind, number);
}

type Place = "provider" | "country" | "region";

/** The places asked for in which the release has no offer. */
export function placesWithoutOffers(release: Release, question: Question): [Place, string][] {
  const asked: [Place, string][] = [
    ["provider", question.provider],
    ["country", question.country.toUpperCase()],
    ["region", question.region],
  ];
  return asked.filter(([place, name]) => name && release.offers.column(place).code(name) === 0);
}

function unknownPlace(release: Release, question: Question): string | null {
  const listed = ([place, name]: [Place, string]) => release.facts.regions.some((region) => region[place] === name);
  const unknown = placesWithoutOffers(release, question).find((place) => !listed(place));
  return unknown ? `There is no ${unknown.join(" ")} in this release. Choose one of the list.` : null;
}

function offers(release: Release, knowledge: Knowledge, question: Question): Candidate[] {
  const table = release.offers;
  const column = (name: string) => table.column(name);
  const numbers = column("machine_kind");
  const places = [
    { column: column("provider"), asked: question.provider },
    { column: column("country"), asked: question.country.toUpperCase() },
    { column: column("region"), asked: question.region },
  ]
    .filter(({ asked }) => asked)
    .map(({ column, asked }) => ({ column, code: column.code(asked) || -1 }));
  const { options } = knowledge.facts.constants;
  const prices = options[question.option]!.map((option) => ({ option, column: column(`${option}_usd_per_hour`) }));
  const others = options.any!.filter((option) => !options[question.option]!.includes(option)).map((option) => column(`${option}_usd_per_hour`));
  const result: Candidate[] = [];
  for (let row = 0; row < table.rows; row++) {
    if (numbers.codes[row] === 0 || places.some(({ column, code }) => column.codes[row] !== code)) continue;
    const cheapest = lowest(prices, row);
    result.push({
      where: "cloud",
      provider: column("provider").text(row),
      region: column("region").text(row),
      machine: column("instance_type").text(row),
      kindNumber: numbers.number(row)!,
      row,
      purchase_option: cheapest.option,
      usdPerHour: cheapest.usd,
      purchasePrice: null,
      priceDate: null,
      energyUsd: null,
      gramsPerHour: grams(column("energy_kwh_per_hour").number(row), column("grid_gco2e_per_kwh").number(row)),
      noPrice: noPrice(column("currency").text(row), others, row),
    });
  }
  return result;
}

function lowest(prices: { option: string; column: Column }[], row: number): { option: string; usd: number | null } {
  let best: { option: string; usd: number | null } = { option: "", usd: null };
  for (const { option, column } of prices) {
    const usd = column.number(row);
    if (usd !== null && (best.usd === null || usd < best.usd)) best = { option, usd };
  }
  return best;
}

/** gCO2e of an hour of electricity. */
function grams(energy: number | null, grid: number | null): number | null {
  return energy === null || grid === null ? null : energy * grid;
}

function noPrice(currency: string, others: Column[], row: number): string {
  if (currency && currency !== "USD") return "other_currency";
  return others.some((column) => column.codes[row] !== 0) ? "other_option" : "no_on_demand_price";
}

function local(knowledge: Knowledge): Candidate[] {
  return knowledge.facts.local.map((row) => ({
    where: "local",
    provider: row.provider,
    region: "",
    machine: row.machine,
    kindNumber: row.kind_number,
    row: null,
    purchase_option: "tco",
    usdPerHour: row.usd_per_hour ?? null,
    purchasePrice: row.purchase_price_usd ?? null,
    priceDate: row.purchase_price_date ?? null,
    energyUsd: row.energy_usd_per_hour ?? null,
    gramsPerHour: null,
    noPrice: row.no_price,
  }));
}

/** A product; null as soon as one factor is. */
function product(...factors: (number | null)[]): number | null {
  return factors.reduce((result, factor) => (result === null || factor === null ? null : result * factor), 1);
}

/** The tokens/s that costs are divided by: those asked for, else all that are possible. */
function paidTokens(question: Question, possible: number | null): number | null {
  return possible === null ? null : Math.min(possible, question.askedTokensPerSecond ?? possible);
}

/** Hours that machines are in use for a training. */
function withSetup({ facts }: Knowledge, hours: number | null): number | null {
  return hours === null ? null : hours + facts.constants.setup_hours;
}

function withFigures(knowledge: Knowledge, question: Question, candidate: Candidate, fitted: Estimate): Machine {
  const { constants, kinds } = knowledge.facts;
  const kind = kinds[candidate.kindNumber - 1]!;
  const { nodes, prompt_share: prompts } = fitted;
  const rate = paidTokens(question, fitted.tokens_per_second);
  const isTraining = question.training !== null;
  const paid = isTraining ? withSetup(knowledge, fitted.hours) : 1;
  const usdPerHour = product(candidate.usdPerHour, nodes);
  const perMillion = isTraining || !rate ? null : 1e6 / (rate * 3600);
  const usdPerMillion = product(usdPerHour, perMillion);
  const machine: Machine = {
    ...fitted,
    where: candidate.where,
    provider: candidate.provider,
    region: candidate.region,
    machine: candidate.machine,
    accelerator_id: kind.accelerator_id ?? "",
    total_accelerators: product(nodes, kind.accelerator_count ?? null),
    row: candidate.row,
    purchase_option: candidate.purchase_option,
    usd_per_hour: usdPerHour,
    usd: product(usdPerHour, paid),
    usd_per_month: product(usdPerHour, isTraining && paid !== null ? Math.min(paid, constants.hours_per_month) : constants.hours_per_month),
    usd_per_million_tokens: usdPerMillion,
    usd_per_million_input_tokens: product(usdPerMillion, prompts, question.output / question.input),
    usd_per_million_output_tokens: product(usdPerMillion, prompts === null ? null : 1 - prompts),
    operational_gco2e: product(candidate.gramsPerHour, nodes, paid),
    gco2e_per_million_tokens: product(candidate.gramsPerHour, nodes, perMillion),
    purchase_price_usd: product(candidate.purchasePrice, nodes ?? 1),
    purchase_price_date: candidate.priceDate,
    energy_usd_per_hour: product(candidate.energyUsd, nodes),
    rent_usd_per_hour: null,
    payback_hours: null,
    excluded_reason: null,
    rank: null,
  };
  const reason = kind.obstacle ?? fitted.reason ?? (usdPerHour === null ? candidate.noPrice : null);
  return { ...machine, excluded_reason: reason ?? overBudget(question, machine) ?? privateHost(knowledge, question, machine) };
}

function overBudget(question: Question, machine: Machine): string | null {
  const above = (figure: number | null, budget: number | null) => figure !== null && budget !== null && figure > budget;
  if (above(machine.usd, question.budget) || above(machine.usd_per_month, question.budgetPerMonth)) return "over_budget";
  return above(machine.purchase_price_usd, question.budgetToBuy) ? "too_dear_to_buy" : null;
}

function privateHost(knowledge: Knowledge, question: Question, { provider, region }: Machine): string | null {
  const hosts = knowledge.facts.constants.private_hosts;
  const isPrivate = hosts.some(([host, place]) => host === provider && place === region);
  return isPrivate && !question.community ? PRIVATE_HOST : null;
}

/** The figure to rank by, smallest first. */
function figure(machine: Machine, question: Question): number | null {
  const isTraining = question.training !== null;
  const speed = isTraining ? machine.tokens_per_second : machine.tokens_per_second_per_user;
  switch (question.objective) {
    case "cost":
      if (machine.where === "local") return machine.purchase_price_usd;
      return isTraining ? machine.usd : machine.usd_per_million_tokens;
    case "carbon":
      return isTraining ? machine.operational_gco2e : machine.gco2e_per_million_tokens;
    case "speed":
      return product(speed, -1);
    case "throughput":
      return product(machine.tokens_per_second, -1);
    case "hourly":
      return machine.usd_per_hour;
  }
}

type Key = string | number | null;

function compare(one: Key, other: Key): number {
  if (one === other) return 0;
  if (one === null || other === null) return one === null ? 1 : -1;
  return one < other ? -1 : 1;
}

/** Each machine in its best region, those that fit first, with its rank. */
/** Money to the tenth place, as the command has it: amounts that differ beyond it are equal. */
function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1e10) / 1e10;
}

function ranked(machines: Machine[], question: Question): Machine[] {
  const keys = new Map<Machine, Key[]>();
  for (const machine of machines) {
    const { where, provider, region, usd, excluded_reason: reason } = machine;
    const by = figure(machine, question);
    const isMoney = question.objective === "cost" || question.objective === "hourly";
    keys.set(machine, [where, reason === null ? 0 : 1, isMoney ? rounded(by) : by, rounded(usd), provider, machine.machine, region]);
  }
  const order = (one: Machine, other: Machine) => {
    const [left, right] = [keys.get(one)!, keys.get(other)!];
    const position = left.findIndex((key, index) => key !== right[index]);
    return position < 0 ? 0 : compare(left[position]!, right[position]!);
  };
  const best = new Map<string, Machine>();
  for (const machine of machines) {
    const apart = machine.excluded_reason === PRIVATE_HOST; // shown apart from the vendor's own
    const name = `${machine.where}|${machine.provider}|${machine.machine}|${apart}`;
    const other = best.get(name);
    if (!other || order(machine, other) < 0) best.set(name, machine);
  }
  const ranks = { cloud: 0, local: 0 };
  return [...best.values()]
    .sort(order)
    .map((machine) => (machine.excluded_reason === null ? { ...machine, rank: ++ranks[machine.where] } : machine));
}

function withPayback(knowledge: Knowledge, machines: Machine[], question: Question): Machine[] {
  const isTraining = question.training !== null;
  const costs = machines
    .filter((machine) => machine.where === "cloud" && machine.excluded_reason === null)
    .map((machine) => (isTraining ? machine.usd : machine.usd_per_million_tokens))
    .filter((cost) => cost !== null);
  if (costs.length === 0) return machines;
  const cheapest = costs.reduce((one, other) => Math.min(one, other));
  return machines.map((machine) => {
    const { hours, energy_usd_per_hour: energy, purchase_price_usd: price } = machine;
    if (machine.where === "cloud") return machine;
    const rate = paidTokens(question, machine.tokens_per_second);
    const inUse = withSetup(knowledge, hours);
    const workPerHour = isTraining ? inUse && 1 / inUse : product(rate, 3600 / 1e6);
    const rent = product(cheapest, workPerHour);
    const saved = rent === null || energy === null ? 0 : rent - energy;
    return { ...machine, rent_usd_per_hour: rent, payback_hours: saved > 0 ? product(price, 1 / saved) : null };
  });
}
