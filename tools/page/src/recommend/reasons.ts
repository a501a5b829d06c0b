/** Why a machine is left out, in words: the codes of hwprices.read.recommend.exclusions. */

import type { Question } from "./question";

const SENTENCES: Record<string, string> = {
  accelerators_unclear: "accelerators of several kinds, or without a spec sheet",
  not_for_models: "accelerators that do not run language models",
  memory_unknown: "memory of the accelerators not known",
  no_accelerator: "no accelerator",
  needs_host: "a part that needs a host",
  bandwidth_unknown: "memory bandwidth not known",
  precision_unsupported: "do not compute in this format",
  precision_unknown: "not known whether they compute in this format",
  inference_only: "for inference only",
  too_small: "too little memory",
  rate_unknown: "no rate in this format is published",
  no_network: "several machines needed, and no RDMA network between them is known",
  too_many_machines: "more machines needed than can be joined",
  too_slow: "do not reach the speed that is asked for",
  too_many_copies: "more copies of the model needed than are reckoned with",
  too_late: "do not finish in time",
  other_currency: "priced in another currency",
  no_on_demand_price: "no price",
  no_price: "no price",
  power_unknown: "power not known",
  too_dear_to_buy: "over the budget to buy",
  over_budget: "over the budget",
  private_host: "of private people",
};

export function sentence(reason: string, question: Question): string {
  if (reason === "other_option") return `not sold ${question.option.replaceAll("_", " ")}`;
  return SENTENCES[reason] ?? reason.replaceAll("_", " ");
}
