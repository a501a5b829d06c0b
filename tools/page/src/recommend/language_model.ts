/** Memory and operations of a language model: hwprices.formulas.language_model, which explains them. */

import type { Constants, Model, Workload } from "./facts";

function expertParameters(model: Model): number {
  if (model.active_expert_share >= 1) return 0;
  return (model.parameters - model.active_parameters) / (1 - model.active_expert_share);
}

export function parametersRead(model: Model, batch: number): number {
  const experts = expertParameters(model);
  return model.parameters - experts + experts * (1 - (1 - model.active_expert_share) ** batch);
}

function cachedTokens(model: Model, context: number): number {
  if (model.window === undefined || model.full_attention_layers === undefined) return model.layers * context;
  const windowed = model.layers - model.full_attention_layers;
  return model.full_attention_layers * context + windowed * Math.min(context, model.window);
}

/** How often the cache is kept where a layer is divided over that many devices. */
function cacheCopies(model: Model, devices: number): number {
  const keysAndValues = 2 * model.kv_heads * Math.floor(model.attention_width / model.heads);
  const isLatent = model.kv_elements !== keysAndValues;
  return isLatent ? 1 : Math.max(1, devices / model.kv_heads);
}

export function cacheBytes(model: Model, context: number, batch: number, bytesPerNumber: number, devices: number): number {
  return batch * cachedTokens(model, context) * model.kv_elements * cacheCopies(model, devices) * bytesPerNumber;
}

export function prefillBytes(model: Model, context: number, constants: Constants): number {
  return 34 * Math.min(context, constants.prefill_tokens) * model.hidden;
}

function attentionFlops(model: Model, context: number): number {
  return 4 * model.attention_width * cachedTokens(model, context);
}

export function promptFlops(model: Model, tokens: number): number {
  return tokens * (2 * model.active_parameters + attentionFlops(model, tokens / 2));
}

export function tokenFlops(model: Model, context: number): number {
  return 2 * model.active_parameters + attentionFlops(model, context);
}

/** Operations of one generated token, with its part of the prompt's. */
export function workPerToken(model: Model, input: number, output: number): number {
  return promptFlops(model, input) / output + tokenFlops(model, input + output / 2);
}

export function trainingFlops(model: Model, workload: Workload, tokens: number, context: number, constants: Constants): number {
  const matrices = constants.flops_per_parameter_and_token[workload] * model.active_parameters;
  return (matrices + 3 * attentionFlops(model, context / 2)) * tokens;
}

function adapterParameters(model: Model, constants: Constants): number {
  const kvWidth = Math.floor(model.kv_elements / 2);
  const attention = (model.hidden + model.attention_width) * 2 + (model.hidden + kvWidth) * 2;
  const feedForward = model.ffn ? 3 * (model.hidden + model.ffn) : 0;
  return model.layers * constants.lora_rank * (attention + feedForward);
}

/** With checkpointing, one sequence on each device. */
function activationBytes(model: Model, context: number, constants: Constants): number {
  const layers = 2 * context * model.hidden * model.layers;
  const logits = constants.logit_bytes * Math.min(context, constants.logit_tokens) * model.vocab;
  return layers + 34 * context * model.hidden + logits;
}

export interface Memory {
  /** Bytes that are divided over the devices. */
  sharded: number;
  /** Bytes that each device needs. */
  perDevice: number;
}

export function trainingMemory(
  model: Model,
  workload: Workload,
  precision: string,
  context: number,
  optimizer: string,
  constants: Constants,
): Memory {
  const { weights, gradients } = constants.training_bytes;
  const state = weights + gradients + constants.optimizer_bytes[optimizer]!;
  const frozen = model.parameters * constants.bytes_per_weight[precision]!;
  const sharded = workload === "lora" ? frozen + adapterParameters(model, constants) * state : model.parameters * state;
  return { sharded, perDevice: activationBytes(model, context, constants) };
}
