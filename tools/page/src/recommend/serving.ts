/** How fast devices serve a model: hwprices.formulas.serving, which explains it. */

import type { Constants, Efficiency, Model } from "./facts";
import { cacheBytes, parametersRead, prefillBytes, promptFlops, tokenFlops } from "./language_model";

/** The devices that hold one copy of a model. Rates are of one device, peaks. */
export interface Replica {
  devices: number;
  flopsPerSecond: number;
  bytesPerSecond: number;
  linkBytesPerSecond: number;
  usableBytes: number;
  stages: number;
}

export interface Request {
  input: number;
  output: number;
  bytesPerWeight: number;
  bytesPerKv: number;
}

export interface Speed {
  batch: number;
  tokensPerSecond: number;
  tokensPerSecondPerUser: number;
  secondsToFirstToken: number;
  promptShare: number;
}

/** A model on a replica, asked for requests of one kind. */
export class Served {
  constructor(
    readonly model: Model,
    readonly replica: Replica,
    readonly efficiency: Efficiency,
    readonly request: Request,
    readonly constants: Constants,
  ) {}

  private allReduceSeconds(tokens: number): number {
    const { devices, linkBytesPerSecond } = this.replica;
    if (devices === 1) return 0;
    const { fast, pcie } = this.constants.all_reduce_seconds;
    const latency = linkBytesPerSecond >= this.constants.fast_link ? fast : pcie;
    const sent = ((2 * (devices - 1)) / devices) * tokens * this.model.hidden * 2;
    return latency + sent / linkBytesPerSecond;
  }

  private promptSeconds(): number {
    const rate = this.replica.flopsPerSecond * this.replica.devices * this.efficiency.compute;
    const compute = promptFlops(this.model, this.request.input) / rate;
    const reduce = this.constants.all_reduces_per_layer * this.allReduceSeconds(this.request.input);
    return compute + this.model.layers * reduce;
  }

  private stepSeconds(batch: number): number {
    const { model, replica, efficiency, request, constants } = this;
    const context = request.input + request.output / 2;
    const weights = parametersRead(model, batch) * request.bytesPerWeight;
    const cache = cacheBytes(model, context, batch, request.bytesPerKv, replica.devices);
    const bandwidth = replica.bytesPerSecond * replica.devices * efficiency.bandwidth;
    const rate = replica.flopsPerSecond * replica.devices * efficiency.compute;
    const compute = (batch * tokenFlops(model, context)) / rate;
    const reduce = constants.all_reduces_per_layer * this.allReduceSeconds(batch);
    return Math.max((weights + cache) / bandwidth, compute) + model.layers * (constants.layer_seconds + reduce);
  }

  /** The sequences whose cache fits beside the weights. */
  largestBatch(): number {
    const { model, replica, request, constants } = this;
    const working = prefillBytes(model, Math.trunc(request.input) || 1, constants);
    const free =
      (replica.usableBytes - working) * replica.devices * replica.stages - model.parameters * request.bytesPerWeight;
    const context = request.input + request.output;
    const sequences = free / cacheBytes(model, context, 1, request.bytesPerKv, replica.devices);
    return Math.min(constants.max_sequences * replica.stages, Math.max(0, Math.trunc(sequences)));
  }

  speed(batch: number): Speed {
    const group = Math.max(1, batch / this.replica.stages);
    const step = this.stepSeconds(group);
    const prompt = this.promptSeconds();
    const seconds = group * prompt + this.request.output * step;
    const perUser = this.request.output / seconds;
    return {
      batch,
      tokensPerSecond: batch * perUser,
      tokensPerSecondPerUser: perUser,
      secondsToFirstToken: prompt + this.stepSeconds(1),
      promptShare: (group * prompt) / seconds,
    };
  }

  /** The most sequences, at most `most`, that are each served that fast; all together have at most `mostTokens` a second. */
  fill(most: number, minimum: number, mostTokens: number): Speed | null {
    const of = (batch: number) => atMost(this.speed(batch), mostTokens);
    let low = 1;
    let high = Math.trunc(most);
    if (high < 1 || of(low).tokensPerSecondPerUser < minimum) return null;
    while (low < high) {
      const middle = Math.floor((low + high + 1) / 2);
      if (of(middle).tokensPerSecondPerUser >= minimum) low = middle;
      else high = middle - 1;
    }
    return of(low);
  }
}

/** Holds the tokens of all sequences below a limit; the first token of a request alone takes as long as before. */
function atMost(unlimited: Speed, mostTokens: number): Speed {
  const share = Math.min(1, mostTokens / unlimited.tokensPerSecond);
  return {
    ...unlimited,
    tokensPerSecond: unlimited.tokensPerSecond * share,
    tokensPerSecondPerUser: unlimited.tokensPerSecondPerUser * share,
  };
}
