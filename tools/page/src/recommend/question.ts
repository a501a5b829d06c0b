/** A question in the address: its parameters have the names of the options of `hwprices recommend`. */

import type { Constants, Knowledge, Model, Workload } from "./facts";

export const WORKLOADS: Record<Workload, string> = {
  inference: "Serve it",
  lora: "Fine-tune it with LoRA",
  full_finetune: "Fine-tune all of it",
  pretrain: "Train it from nothing",
};

export const OBJECTIVES = {
  cost: "Lowest cost of the work",
  hourly: "Lowest price per hour",
  speed: "Fastest for one user",
  throughput: "Most tokens per second",
  carbon: "Lowest emissions",
} as const;

export const DEFAULTS: Record<string, string> = {
  model: "llama-3.1-70b",
  workload: "inference",
  objective: "cost",
  optimizer: "adam",
  option: "on_demand",
};

const SERVING = [
  "input",
  "output",
  "users",
  "requests-per-second",
  "min-tokens-per-second",
  "max-seconds-to-first-token",
  "kv-precision",
];
const TRAINING = ["tokens", "days", "context", "optimizer"];
const BOTH = ["model", "workload", "precision", "objective", "max-nodes"];
const LIMITS = ["where", "provider", "country", "region", "option", "community", "budget", "budget-per-month", "budget-to-buy"];

/** The value of the parameter community that ranks machines of private people. */
export const COMMUNITY = "yes";

/** Formats in which a whole model is not trained. */
const STORAGE_FORMATS = ["int4", "int8", "fp4"];

/** A question with its defaults filled in; what is not asked is null. */
export interface Question {
  model: Model;
  workload: Workload;
  objective: keyof typeof OBJECTIVES;
  precision: string | null;
  /** Of requests, and whether they are asked or those of a benchmark of the model. */
  input: number;
  output: number;
  lengthsFrom: string;
  users: number | null;
  requests: number | null;
  /** Tokens/s that these requests generate. */
  askedTokensPerSecond: number | null;
  minSpeed: number | null;
  maxFirstToken: number | null;
  kvBytes: number | null;
  maxNodes: number;
  /** Whether nothing is asked but the model: then a measurement of it is the answer. */
  isVague: boolean;
  training: { tokens: number; days: number; context: number; optimizer: string } | null;
  where: string;
  provider: string;
  country: string;
  region: string;
  option: string;
  /** Whether machines of private people are ranked with the others. */
  community: boolean;
  budget: number | null;
  budgetPerMonth: number | null;
  budgetToBuy: number | null;
}

/** Reads the question; a sentence says what is wrong with one that has no answer. */
export function ask(knowledge: Knowledge, parameters: Record<string, string>): Question | string {
  const { constants } = knowledge.facts;
  const text = (name: string) => parameters[name] || DEFAULTS[name] || "";
  const model = knowledge.model(text("model"));
  if (!model) return `There is no model ${text("model")} in the sheet. Choose one of the list.`;
  const workload = text("workload") as Workload;
  const objective = text("objective") as Question["objective"];
  const precision = text("precision");
  const known =
    Object.hasOwn(WORKLOADS, workload) && Object.hasOwn(OBJECTIVES, objective) && Object.hasOwn(constants.options, text("option"));
  if (!known || (precision && !Object.hasOwn(constants.bytes_per_weight, precision))) return "The address names a choice that the form does not have.";
  if (!Object.hasOwn(constants.optimizer_bytes, text("optimizer"))) return `There is no optimizer ${text("optimizer")}.`;
  const isTraining = workload !== "inference";
  const numbers = numbersOf(parameters, isTraining);
  if (typeof numbers === "string") return numbers;
  if ((workload === "pretrain" || workload === "full_finetune") && STORAGE_FORMATS.includes(precision)) {
    return `Training all of a model in ${precision} is not reckoned here. Choose bf16, fp16, fp8 or fp32.`;
  }
  const asked = (name: string) => numbers.get(name) ?? null;
  const requests = asked("requests-per-second");
  const users = asked("users") ?? (objective === "speed" && !isTraining ? 1 : null);
  if (users !== null && requests !== null) {
    return "Users at once and requests per second say the same thing, and the speed of one user has one user: give one of them.";
  }
  const lengthsAsked = asked("input") !== null || asked("output") !== null;
  const serving = !isTraining && (lengthsAsked || SERVING.some((name) => parameters[name]) || users !== null);
  const maxNodes = asked("max-nodes") ?? constants.max_nodes[workload];
  const output = asked("output") ?? (lengthsAsked ? constants.output_tokens : model.output_tokens);
  const question: Question = {
    model,
    workload,
    objective,
    precision: precision || (isTraining ? "bf16" : null),
    input: asked("input") ?? (lengthsAsked ? constants.input_tokens : model.input_tokens),
    output,
    lengthsFrom: lengthsAsked ? "" : model.lengths_from,
    users,
    requests,
    askedTokensPerSecond: requests === null ? null : requests * output,
    minSpeed: asked("min-tokens-per-second"),
    maxFirstToken: asked("max-seconds-to-first-token"),
    kvBytes: { fp8: 1, fp16: 2 }[text("kv-precision")] ?? null,
    maxNodes,
    isVague: !serving && !precision && maxNodes === 1,
    training: isTraining ? training(model, workload, asked, text("optimizer"), constants) : null,
    where: text("where"),
    provider: text("provider"),
    country: text("country"),
    region: text("region"),
    option: text("option"),
    community: text("community") === COMMUNITY || constants.private_hosts.some(([, region]) => region === text("region")),
    budget: asked("budget"),
    budgetPerMonth: asked("budget-per-month"),
    budgetToBuy: asked("budget-to-buy"),
  };
  return contextProblem(question) ?? question;
}

/** The numbers that belong to the workload; a sentence for one that is none, or not above 0. */
function numbersOf(parameters: Record<string, string>, isTraining: boolean): Map<string, number> | string {
  const texts = ["kv-precision", "optimizer", "where", "provider", "country", "region", "option", "community"];
  const names = [...(isTraining ? TRAINING : SERVING), "max-nodes", ...LIMITS].filter((name) => !texts.includes(name));
  const numbers = new Map<string, number>();
  for (const name of names) {
    if (!parameters[name]) continue;
    const value = Number(parameters[name]);
    if (!(value > 0 && Number.isFinite(value))) return `${name.replaceAll("-", " ")} must be a number above 0.`;
    numbers.set(name, value);
  }
  return numbers;
}

function training(
  model: Model,
  workload: Workload,
  asked: (name: string) => number | null,
  optimizer: string,
  constants: Constants,
): Question["training"] {
  const usual =
    workload === "pretrain" ? constants.tokens_per_parameter * model.active_parameters : constants.fine_tuning_tokens;
  return {
    tokens: asked("tokens") ?? usual,
    days: asked("days") ?? constants.training_days,
    context: asked("context") ?? model.training_context,
    optimizer,
  };
}

function contextProblem({ model, training: trained, input, output }: Question): string | null {
  const length = trained ? trained.context : Math.trunc(input + output);
  if (model.context_limit === undefined || length <= model.context_limit) return null;
  const limit = model.context_limit.toLocaleString("en-US");
  return `${model.name} reads at most ${limit} tokens, not ${length.toLocaleString("en-US")}. Ask for fewer, or for a model that reads more.`;
}

/** The parameters that belong to a workload: those of the other one are dropped when it changes. */
export function belongs(name: string, workload: string): boolean {
  return [...BOTH, ...LIMITS, ...(workload === "inference" ? SERVING : TRAINING)].includes(name);
}

/** The command that gives the same answer. */
export function command(parameters: Record<string, string>): string {
  const workload = parameters.workload || DEFAULTS.workload!;
  const names = [...BOTH, ...SERVING, ...TRAINING, ...LIMITS].filter((name) => belongs(name, workload));
  const options = names.flatMap((name) => {
    const value = parameters[name] || (name === "model" ? DEFAULTS.model! : "");
    if (name === "community") return value === COMMUNITY ? ["--community"] : [];
    return value && (name === "model" || value !== DEFAULTS[name]) ? [`--${name} ${quoted(value)}`] : [];
  });
  return `hwprices recommend ${options.join(" ")}`;
}

function quoted(value: string): string {
  return /^[A-Za-z0-9._-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
