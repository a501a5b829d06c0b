/** A job on a kind of machine: hwprices.read.recommend.estimates and .throughput, which explain it. */

import { NO_ESTIMATE, type Constants, type Device, type Estimate, type Kind, type Knowledge, type MeasureKind, type Model, type Tuning } from "./facts";
import { cacheBytes, prefillBytes, trainingFlops, trainingMemory, workPerToken, type Memory } from "./language_model";
import type { Question } from "./question";
import { Served, type Speed } from "./serving";

const GIB = 2 ** 30;

export function estimate(knowledge: Knowledge, question: Question, kind: Kind, kindNumber: number): Estimate {
  const device = knowledge.facts.devices[kind.accelerator_id!]!;
  if (device.bytes_per_second === null) return { ...NO_ESTIMATE, reason: "bandwidth_unknown" };
  if (question.training) return new Training(knowledge, question, kind, device).estimate();
  const measured = question.isVague ? knowledge.measured(kindNumber, question.model) : null;
  return measured ?? new Serving(knowledge, question, kind, device).estimate();
}

/** How many devices a layer can be divided over: powers of two among which its heads divide. */
function divisions(count: number, { heads, kv_heads: kvHeads }: Model): number[] {
  const result = [];
  for (let devices = 1; devices <= Math.min(count, heads); devices *= 2) {
    if (heads % devices === 0 && (kvHeads % devices === 0 || devices % kvHeads === 0)) result.push(devices);
  }
  return result;
}

/** How many machines are joined for a job; null where it fits on none, or not on one. */
function machinesJoined(needed: number | null, question: Question): number | null {
  return needed === null || (needed > 1 && question.maxNodes === 1) ? null : needed;
}

class Serving {
  private readonly constants: Constants;
  private readonly count: number;
  private readonly wholeDevices: number;
  private readonly precision: string;

  constructor(
    private readonly knowledge: Knowledge,
    private readonly question: Question,
    private readonly kind: Kind,
    private readonly device: Device,
  ) {
    this.constants = knowledge.facts.constants;
    this.count = Math.trunc(kind.devices!);
    this.wholeDevices = Math.min(1, kind.accelerator_count!);
    const exact = knowledge.nearest(kind.accelerator_id!, question.model, "serving");
    this.precision = question.precision ?? exact?.precision ?? question.model.released_format ?? "fp8";
  }

  private get format() {
    return this.device.serving[this.precision]!;
  }

  private get kvBytes(): number {
    return this.question.kvBytes ?? this.format.kv_bytes;
  }

  private get minimum(): number {
    const { minSpeed, users } = this.question;
    return minSpeed ?? (users === 1 ? 0 : this.constants.reading_speed);
  }

  estimate(): Estimate {
    const { question, precision } = this;
    if (this.format.reason) return { ...NO_ESTIMATE, reason: this.format.reason, precision };
    const needed = this.stages();
    const joined = machinesJoined(needed, question);
    const fitted: Estimate = { ...NO_ESTIMATE, precision, nodes_needed: needed, ...this.memory(joined ?? 1) };
    if (joined === null) return { ...fitted, reason: "too_small" };
    if (joined > 1 && !this.kind.clusters) return { ...fitted, reason: "no_network" };
    if (joined > question.maxNodes) return { ...fitted, reason: "too_many_machines" };
    return this.served(fitted, joined);
  }

  private get split(): number {
    return Math.max(...divisions(this.count, this.question.model));
  }

  private bytesNeeded(): { shared: number; each: number } {
    const { model, input, output } = this.question;
    const weights = (model.parameters * this.constants.bits_per_weight[this.precision]!) / 8;
    const cache = cacheBytes(model, input + output, 1, this.kvBytes, this.split);
    return { shared: weights + cache, each: prefillBytes(model, Math.max(1, Math.trunc(input)), this.constants) };
  }

  private stages(): number | null {
    const { shared, each } = this.bytesNeeded();
    const free = (this.kind.usable_bytes! - each) * this.split;
    return free > 0 ? Math.ceil(shared / free) : null;
  }

  private memory(nodes: number) {
    const { shared, each } = this.bytesNeeded();
    const devices = this.split * nodes;
    return {
      memory_needed_gib: (shared + each * devices) / GIB,
      memory_usable_gib: (this.kind.usable_bytes! * devices) / GIB,
    };
  }

  /** The fastest division of the machine into copies of the model. */
  private roofline(stages: number, factor: number, mostPerDevice: number, measure: MeasureKind): Speed | null {
    const { model, users, maxFirstToken } = this.question;
    const minimum = this.minimum / factor;
    const latest = maxFirstToken === null ? Infinity : maxFirstToken * factor;
    const most = (mostPerDevice / factor) * this.wholeDevices * stages;
    const experts = model.active_expert_share < 1 ? "experts" : "dense";
    let best: Speed | null = null;
    for (const devices of divisions(this.count, model)) {
      const copies = Math.floor(this.count / devices);
      const served = this.replica(devices, stages, `${experts}/${measure}`);
      const fits = served.largestBatch();
      const wanted = users === null ? fits : Math.min(fits, Math.ceil(users / copies));
      const filled = served.fill(wanted, minimum, most * devices);
      if (!filled || filled.secondsToFirstToken > latest) continue;
      const busy = users === null ? copies : Math.min(copies, users);
      const all = { ...filled, batch: filled.batch * busy, tokensPerSecond: filled.tokensPerSecond * busy };
      if (!best || isBetter(all, best)) best = all;
    }
    return best;
  }

  private replica(devices: number, stages: number, efficiency: string): Served {
    const { device, question, constants, wholeDevices } = this;
    const replica = {
      devices,
      flopsPerSecond: this.format.rate * wholeDevices,
      bytesPerSecond: device.bytes_per_second! * wholeDevices,
      linkBytesPerSecond: device.link_bytes_per_second,
      usableBytes: this.kind.usable_bytes!,
      stages,
    };
    const bytesPerWeight = constants.bits_per_weight[this.precision]! / 8;
    const request = { input: question.input, output: question.output, bytesPerWeight, bytesPerKv: this.kvBytes };
    return new Served(question.model, replica, device.efficiency[efficiency]!, request, constants);
  }

  private served(fitted: Estimate, stages: number): Estimate {
    const { knowledge, question, constants } = this;
    const { users } = question;
    const measure: MeasureKind = users !== null && users < constants.measured_batched ? "single_user" : "serving";
    const nearest = knowledge.nearest(this.kind.accelerator_id!, question.model, measure, this.format.compute_format);
    const factor = nearest?.factor ?? 1;
    const unscaled = this.roofline(stages, factor, this.mostPerDevice(nearest?.most_work ?? null), measure);
    if (!unscaled) return { ...fitted, reason: "too_slow" };
    const speed = times(unscaled, factor);
    const wantedTokens = question.askedTokensPerSecond ?? 0;
    const copies = Math.max(1, Math.ceil((users ?? 0) / speed.batch), Math.ceil(wantedTokens / speed.tokensPerSecond));
    if (copies > constants.most_copies) return { ...fitted, reason: "too_many_copies" };
    const basis = nearest ? "scaled" : this.device.fitted[measure] ? "modelled" : "unmeasured_family";
    const [error, error_p90] = knowledge.facts.errors[`${basis}/${measure}`]!;
    return {
      ...fitted,
      nodes: copies * stages,
      compute_format: this.format.compute_format,
      concurrency: Math.min(users ?? 0, speed.batch * copies) || speed.batch * copies,
      tokens_per_second: speed.tokensPerSecond * copies,
      tokens_per_second_per_user: speed.tokensPerSecondPerUser,
      seconds_to_first_token: speed.secondsToFirstToken,
      prompt_share: speed.promptShare,
      basis,
      error,
      error_p90,
      measurement: nearest?.label ?? null,
    };
  }

  /** Tokens per second of one accelerator at the published peak, and at the most work that was ever measured. */
  private mostPerDevice(mostWork: number | null): number {
    const { model, input, output } = this.question;
    const rates = [this.format.peak, mostWork].filter((rate) => rate !== null);
    return Math.min(...rates) / workPerToken(model, input, output);
  }
}

/** The most tokens per second; of divisions that reach the same limit the most users, then the soonest first token. */
function isBetter(one: Speed, other: Speed): boolean {
  const [tokens, others] = [one, other].map(({ tokensPerSecond }) => Number(tokensPerSecond.toPrecision(9)));
  if (tokens !== others) return tokens! > others!;
  return one.batch === other.batch ? one.secondsToFirstToken < other.secondsToFirstToken : one.batch > other.batch;
}

function times(speed: Speed, factor: number): Speed {
  return {
    ...speed,
    tokensPerSecond: speed.tokensPerSecond * factor,
    tokensPerSecondPerUser: speed.tokensPerSecondPerUser * factor,
    secondsToFirstToken: speed.secondsToFirstToken / factor,
  };
}

class Training {
  private readonly constants: Constants;
  private readonly count: number;
  private readonly devicesPerNode: number;
  private readonly precision: string;
  private readonly flops: number;
  /** Measured over modelled hours, where this very training was measured on one machine. */
  private factor = 1;

  constructor(
    private readonly knowledge: Knowledge,
    private readonly question: Question,
    private readonly kind: Kind,
    private readonly device: Device,
  ) {
    this.constants = knowledge.facts.constants;
    this.count = Math.trunc(kind.devices!);
    this.devicesPerNode = this.count * Math.min(1, kind.accelerator_count!);
    this.precision = question.precision!;
    const { model, workload, training } = question;
    this.flops = trainingFlops(model, workload, training!.tokens, training!.context, this.constants);
  }

  estimate(): Estimate {
    const { question, precision, count, kind } = this;
    const { reason, compute_format, rate } = this.device.training[precision]!;
    if (reason) return { ...NO_ESTIMATE, reason, precision };
    if (kind.inference_only) return { ...NO_ESTIMATE, reason: "inference_only", precision };
    const { model, workload, training } = question;
    const memory = trainingMemory(model, workload, precision, training!.context, training!.optimizer, this.constants);
    const free = kind.usable_bytes! - memory.perDevice;
    const needed = free > 0 ? Math.ceil(memory.sharded / (free * count)) : null;
    const joined = machinesJoined(needed, question);
    const fitted: Estimate = { ...NO_ESTIMATE, precision, compute_format, nodes_needed: needed, ...this.memory(memory, joined ?? 1) };
    if (joined === null) return { ...fitted, reason: "too_small" };
    if (rate === null) return { ...fitted, reason: "rate_unknown" };
    const narrow = compute_format === "fp8";
    const tuning = this.tuning();
    if (tuning) this.factor = this.tuningHours(tuning) / this.hours(1, rate, narrow);
    return this.withBasis(this.withHours(fitted, joined, rate, narrow), tuning);
  }

  private memory(memory: Memory, nodes: number) {
    const devices = this.count * nodes;
    return {
      memory_needed_gib: (memory.sharded + memory.perDevice * devices) / GIB,
      memory_usable_gib: (this.kind.usable_bytes! * devices) / GIB,
    };
  }

  /** As few machines as hold the model, more where the deadline asks for them. */
  private withHours(fitted: Estimate, needed: number, rate: number, narrow: boolean): Estimate {
    const { question, kind, device } = this;
    const { tokens, days } = question.training!;
    const limit = days * 24;
    let nodes = needed;
    let hours = this.hours(nodes, rate, narrow);
    while (hours > limit && nodes <= question.maxNodes && kind.clusters) {
      nodes = Math.max(nodes + 1, Math.ceil((nodes * hours) / limit));
      hours = this.hours(nodes, rate, narrow);
    }
    const result = { ...fitted, nodes_needed: nodes };
    if (nodes > 1 && !kind.clusters) return { ...result, reason: "no_network" };
    const tooMany = nodes > question.maxNodes || nodes * this.count > (device.slice ?? Infinity);
    if (tooMany) return { ...result, reason: "too_many_machines" };
    if (hours > limit) return { ...result, reason: "too_late" };
    return { ...result, nodes, hours, tokens_per_second: tokens / (hours * 3600) };
  }

  private hours(nodes: number, rate: number, narrow: boolean): number {
    const mfu = this.utilisation(narrow);
    const share = mfu * this.networkShare(nodes, rate, mfu);
    const steps = this.flops / (rate * this.devicesPerNode * nodes * share) / 3600;
    return (steps + (nodes > 1 ? (steps / 24) * this.constants.checkpoint_hours_per_day : 0)) * this.factor;
  }

  private utilisation(narrow: boolean): number {
    const { mfu, fast_link } = this.constants;
    const isSlow = this.devicesPerNode > 1 && this.device.link_bytes_per_second < fast_link;
    const wide = this.device.kind === "tpu" ? mfu.tpu : this.device.is_small ? mfu.other : isSlow ? mfu.pcie : mfu.fast_link;
    const dense = this.measuredShare(narrow) ?? (narrow ? mfu.narrow : wide);
    const share = this.question.model.active_expert_share < 1 ? dense * mfu.experts : dense;
    return share * (["int8", "int4", "fp4"].includes(this.precision) ? mfu.unpacking : 1);
  }

  /** The share of the peak rate that dense models reached on this accelerator; null if not measured. */
  private measuredShare(narrow: boolean): number | null {
    return this.device.mfu[narrow ? "narrow" : "wide"];
  }

  /** The share of the speed that the network between the machines leaves. */
  private networkShare(nodes: number, rate: number, mfu: number): number {
    const { model, workload, training } = this.question;
    const network = this.kind.network_gbps;
    if (nodes === 1 || this.device.kind === "tpu" || workload === "lora" || !network) return 1;
    const compute = ((this.flops / training!.tokens) * training!.context) / (rate * mfu);
    const sent = (this.constants.weight_passes * model.parameters * 2 * (nodes - 1)) / nodes;
    return Math.min(1, compute / (sent / ((network * 1e9) / 8)));
  }

  /** What the hours rest on. */
  private withBasis(fitted: Estimate, tuning: Tuning | null): Estimate {
    if (fitted.hours === null) return fitted;
    const isScaled = tuning !== null || this.measuredShare(fitted.compute_format === "fp8") !== null;
    const isMeasured = tuning !== null && fitted.nodes === 1;
    const basis = isMeasured ? "measured" : isScaled ? "scaled" : "modelled";
    const [error, error_p90] = this.knowledge.facts.errors[`${basis}/training`]!;
    const precision = isMeasured ? null : fitted.precision;
    return { ...fitted, basis, precision, measurement: tuning?.label ?? null, error, error_p90 };
  }

  /** The measured time of this fine-tuning on one machine; null if the question differs. */
  private tuning(): Tuning | null {
    const { question, kind, constants } = this;
    const { model, workload, precision, training } = question;
    const { context, optimizer } = training!;
    const isMeasured =
      workload === "lora" &&
      model.name === constants.tuned_model &&
      precision === "bf16" &&
      (context === model.training_context || context === constants.tuning_context) &&
      optimizer === "adam";
    const same = (row: Tuning) => row.accelerator_id === kind.accelerator_id && row.count === kind.accelerator_count;
    return (isMeasured && this.knowledge.facts.tunings.find(same)) || null;
  }

  private tuningHours({ minutes }: Tuning): number {
    return ((minutes / 60) * this.question.training!.tokens) / this.constants.tuning_tokens;
  }
}
