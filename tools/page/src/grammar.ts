/** Reads a question as `hwprices find` does: with the words and patterns that the release ships. */

import type { Table } from "./payload";
import { PERIODS } from "./prices";

/** What src/hwprices/read/report/grammar.py makes of the vocabulary of read.find. */
export interface Grammar {
  max_words: number;
  patterns: Record<"separator" | "number" | "counted" | "counted_behind" | "named_after" | "term" | "vcpus" | "about_cpus" | "memory" | "payment" | "limit" | "period" | "each", string>;
  /** Patterns of what is read as something else, and what is written in its place. */
  rewritten: [string, string][];
  skipped: string[];
  /** Words that mean every accelerator of a kind, or a machine with none. */
  kinds: Record<string, string>;
  /** Purchase options, operating systems and instruction sets: kind of thing and code. "absent": the page has no such prices. */
  codes: Record<string, ["option" | "os" | "arch" | "absent", string]>;
  providers: Record<string, string>;
  /** By provider: how the names of most of its machines begin, which may be left out. */
  prefixes: Record<string, string>;
  regions: [string, string][];
  /** Words of places: positions in regions. */
  places: Record<string, number[]>;
  /** Ids, and the vendors' names of those without one. */
  accelerators: string[];
  /** How many of them are ids. */
  ids: number;
  /** Words of accelerators: positions in accelerators. */
  accelerator_words: Record<string, number[]>;
  /** Those of them, such as architectures, that cannot be abbreviated. */
  whole_words: string[];
  architectures: string[];
  /** Makers of CPUs that also mean accelerators. */
  makers: string[];
  short_names: string[];
  /** Words for how an accelerator is mounted. */
  forms: string[];
  /** Words for what an accelerator has, such as a form: they narrow accelerators, also those after them. */
  features: string[];
  /** The feature that a card may have by a bridge: then the name of the machine has it. */
  bridge: string;
  /** Words that are no name of an accelerator alone. */
  no_names: string[];
  /** Words that leave out what is after them, which the page cannot do. */
  without: string[];
  /** No accelerator has as many GiB. */
  max_accelerator_gib: number;
  /** Letters of a word that may be the beginning of one. */
  min_begun: number;
}

/** What a question asks for; what is empty or null asks for nothing. Sets and machines are of any of their values. */
export interface Asks {
  /** Ids, vendors' names of those without one, and machines that are named beside them: provider|type. */
  accelerators: Set<string>;
  kinds: Set<string>;
  count: number | null;
  /** The least of one accelerator, in GiB. */
  gpuMemory: number | null;
  vcpus: number | null;
  memory: number | null;
  arch: string | null;
  os: string | null;
  /** provider|type */
  machines: Set<string>;
  providers: Set<string>;
  /** provider|region */
  regions: Set<string>;
  options: Set<string>;
  terms: Set<number>;
  payments: Set<string>;
  /** USD for an hour of the machine. */
  maxPrice: number | null;
  maxPricePerGpu: number | null;
  /** Words that are part of a name only. */
  parts: Set<string>;
}

type Kind = "accelerator" | "amount" | "option" | "os" | "arch" | "provider" | "type" | "place" | "price" | "part" | "absent";

/** One thing that words mean. */
export interface Meaning {
  kind: Kind;
  words: string;
  asks: Partial<Asks>;
  /** Whether it asks for fewer of the accelerators named before. */
  narrows?: boolean;
  /** Whether "and" or "or" is before it. */
  isAdded?: boolean;
}

export interface Reading {
  asks: Asks;
  meanings: Meaning[];
  /** A word that means nothing, with near ones, or one of prices that the page does not have. */
  unknown: { word: string; near: string[]; absent?: true } | null;
}

interface Machine {
  provider: string;
  type: string;
  spellings: string[];
  /** Its accelerator, by id or by the vendor's name; "" if it has none. */
  device: string;
}

const ANY_KIND = "gpu";
const NO_ACCELERATOR = "none";
const TIMES = ["x", "×", "*"];
const MONTHS = 12;
const GIB_PER_TIB = 1024;
const HOURS: Record<string, number> = { h: 1, m: PERIODS.month.hours, y: PERIODS.year.hours };
const NEAR = 0.65; // how alike a suggestion is, as in words.py
const MOST_NEAR = 5;

/** Flags of the patterns that may match a part of a text. */
const flagsOf: Record<string, string> = { limit: "gi", separator: "gi", period: "i", each: "i" };

export class Reader {
  private readonly patterns: Record<keyof Grammar["patterns"], RegExp>;
  private readonly skipped: Set<string>;
  private readonly machines: Machine[];
  private readonly types: string[];
  private readonly known = new Map<string, Reading>();
  /** The accelerators that the words read so far name. */
  private chosen = new Set<string>();

  constructor(
    private readonly grammar: Grammar,
    offers: Table,
  ) {
    const compiled = ([name, source]: [string, string]) => [name, flagsOf[name] ? new RegExp(source, flagsOf[name]) : new RegExp(`^(?:${source})$`, "i")] as const;
    this.patterns = Object.fromEntries(Object.entries(grammar.patterns).map(compiled)) as Reader["patterns"];
    this.skipped = new Set(grammar.skipped);
    this.machines = machinesOf(offers, grammar.prefixes);
    this.types = this.machines.map(({ type }) => type.toLowerCase());
  }

  read(question: string): Reading {
    let reading = this.known.get(question);
    if (!reading) this.known.set(question, (reading = this.understand(question)));
    return reading;
  }

  private understand(question: string): Reading {
    const meanings: Meaning[] = [];
    let unknown: Reading["unknown"] = null;
    const unlimited = question.replace(this.patterns.limit, (text, amount: string, behind: string) => {
      const period = this.patterns.period.exec(behind)?.[1] ?? "h";
      const limit = Number(amount.replaceAll(",", "")) / HOURS[period.toLowerCase()]!;
      meanings.push({ kind: "price", words: text.trim(), asks: this.patterns.each.test(behind) ? { maxPricePerGpu: limit } : { maxPrice: limit } });
      return " ";
    });
    const rest = this.grammar.rewritten.reduce((text, [pattern, written]) => text.replace(new RegExp(pattern, "gi"), written), unlimited);
    let before = "";
    let words = rest.split(this.patterns.separator).filter(Boolean);
    const isFeature = (word: string) => this.grammar.features.includes(word.toLowerCase());
    let features: string[] = []; // of the first accelerator that follows: "nvlink h100"
    const aboutCpus = words.some((word) => this.patterns.about_cpus.test(word));
    while (words.length + features.length > 0) {
      const hasAccelerator = this.merged(meanings).accelerators.size > 0;
      if (words.length > 0 && !hasAccelerator && isFeature(words[0]!)) {
        features.push(words.shift()!);
        continue;
      }
      if (hasAccelerator || words.length === 0) [words, features] = [[...features, ...words], []];
      if (words.length > 1 && this.grammar.without.includes(words[0]!.toLowerCase()) && !this.patterns.payment.test(words.slice(0, 2).join(" "))) {
        unknown ??= { word: words.slice(0, 2).join(" "), near: [] }; // never what it leaves out
        words = words.slice(2);
        continue;
      }
      const ofAccelerator = meanings.some(({ kind }) => kind === "accelerator");
      this.chosen = this.merged(meanings).accelerators;
      const { used, meaning } = this.first(words, ofAccelerator);
      if (aboutCpus && used === 1 && this.grammar.makers.includes(words[0]!.toLowerCase())) unknown ??= { word: words[0]!, near: [] }; // offers do not list CPUs
      else if (meaning?.kind === "absent") unknown ??= { word: meaning.words, near: [], absent: true };
      else if (meaning) meanings.push({ ...meaning, isAdded: ["and", "or"].includes(before) });
      else if (!this.skipped.has(words[0]!.toLowerCase())) {
        if (!isFeature(words[0]!) && this.isPart(words[0]!)) meanings.push({ kind: "part", words: words[0]!, asks: { parts: new Set([words[0]!.toLowerCase()]) } });
        else unknown ??= { word: words[0]!, near: this.near(words[0]!) };
      }
      before = words[used - 1]!.toLowerCase();
      words = words.slice(used);
    }
    return { asks: this.merged(meanings), meanings, unknown };
  }

  private first(words: string[], ofAccelerator: boolean): { used: number; meaning: Meaning | null } {
    const number = this.patterns.number.exec(words[0]!);
    if (number && !(number[3] && this.type(words[0]!))) return this.countedAhead(number, words, ofAccelerator);
    const first = words[0]!.toLowerCase(); // "fp8 google" is not Google's TPU with FP8, but "pcie a100" is an A100
    const isAlone = this.grammar.features.includes(first) && !this.grammar.forms.includes(first);
    for (let used = isAlone ? 1 : Math.min(this.grammar.max_words, words.length); used > 0; used--) {
      if (used > 1 && this.splitsAmount(words, used, ofAccelerator)) continue;
      const meanings = this.meaningsOf(words.slice(0, used).join(" "), ofAccelerator);
      if (meanings.length > 0) return { used, meaning: meanings[0]! };
      if (used === 1) break;
    }
    return { used: 1, meaning: null };
  }

  /** Whether so many words end within an amount: "h100 1" in "h100 1 year". */
  private splitsAmount(words: string[], count: number, ofAccelerator: boolean): boolean {
    const isNumber = count < words.length && this.patterns.number.test(words[count - 1]!);
    return isNumber && this.amount(words.slice(count - 1, count + 1).join(" "), ofAccelerator) !== null;
  }

  /** "8 h100", "8 x h100", "8 gpus"; "8x" may be alone. */
  private countedAhead(number: RegExpExecArray, words: string[], ofAccelerator: boolean): { used: number; meaning: Meaning | null } {
    const amount = this.amount(words.slice(0, 2).join(" "), ofAccelerator);
    if (amount) return { used: 2, meaning: amount };
    const count = Number(number[1] ?? number[2] ?? number[3]);
    let isTimes = number[1] === undefined;
    let used = 1;
    if (!isTimes && TIMES.includes(words[1]?.toLowerCase() ?? "")) [isTimes, used] = [true, 2];
    const ahead = words.slice(used, used + this.grammar.max_words);
    for (let length = ahead.length; length > 0; length--) {
      const phrase = ahead.slice(0, length).join(" ");
      if (this.skipped.has(phrase.toLowerCase()) || this.splitsAmount(words, used + length, ofAccelerator)) continue;
      const meaning = this.meaningsOf(phrase, ofAccelerator).find(({ kind }) => kind === "accelerator");
      if (meaning) return { used: used + length, meaning: exactly(count, meaning, words.slice(0, used + length).join(" ")) };
    }
    if (isTimes) return { used, meaning: exactly(count, { kind: "accelerator", words: "", asks: {} }, words.slice(0, used).join(" ")) };
    return { used: 1, meaning: null };
  }

  private meaningsOf(phrase: string, ofAccelerator: boolean): Meaning[] {
    const text = phrase.toLowerCase();
    const amount = this.amount(text, ofAccelerator) ?? this.kind(text);
    if (amount) return [amount];
    const narrowed = this.provider(text) || this.place(text) ? null : this.narrowed(text);
    if (narrowed) return [narrowed];
    if (this.chosen.size > 0 && this.grammar.features.includes(text)) return []; // which none of them has
    const counted = this.patterns.counted.exec(text);
    if (counted) return this.counted(Number(counted[1]), counted[2]!, phrase);
    const [provider, type, device] = [this.provider(text), this.type(phrase), this.named(text)];
    const isOfDevice = type !== null && device !== null && this.haveAny(type.asks.machines!, device.asks.accelerators!);
    const complete = [this.code(text), provider, isOfDevice ? null : type, provider ? null : device, this.place(text)];
    const meanings = complete.filter((meaning) => meaning !== null);
    if (meanings.length > 0) return meanings;
    const behind = this.patterns.counted_behind.exec(text);
    const countedBehind = behind ? this.counted(Number(behind[2]), behind[1]!, phrase) : [];
    if (countedBehind.length > 0) return countedBehind;
    const begun = this.named(text, true);
    return begun ? [begun] : [];
  }

  private amount(phrase: string, ofAccelerator: boolean): Meaning | null {
    const text = phrase.toLowerCase();
    const make = (kind: Kind, asks: Partial<Asks>): Meaning => ({ kind, words: phrase, asks });
    const term = this.patterns.term.exec(text);
    if (term) return make("option", { terms: new Set([Number(term[1]) * (term[2]!.startsWith("y") ? MONTHS : 1)]) });
    const vcpus = this.patterns.vcpus.exec(text);
    if (vcpus) return make("amount", { vcpus: Number(vcpus[1]) });
    const memory = this.patterns.memory.exec(text);
    if (memory) {
      const gib = Number(memory[1]) * (memory[2] === "t" ? GIB_PER_TIB : 1);
      const mayBe = !memory[3] && ofAccelerator && gib < this.grammar.max_accelerator_gib;
      return make("amount", memory[3] === "vram" || mayBe ? { gpuMemory: gib } : { memory: gib });
    }
    return null;
  }

  private kind(text: string): Meaning | null {
    const kind = own(this.grammar.kinds, text);
    return kind ? { kind: "accelerator", words: text, asks: { kinds: new Set([kind]) } } : null;
  }

  private counted(count: number, name: string, phrase: string): Meaning[] {
    const meaning = this.kind(name) ?? this.narrowed(name) ?? this.accelerator(name) ?? this.accelerator(name, true);
    return meaning ? [exactly(count, meaning, phrase)] : [];
  }

  private code(text: string): Meaning | null {
    const payment = this.patterns.payment.exec(text);
    if (payment) return { kind: "option", words: text, asks: { payments: new Set([`${payment[1]}_upfront`]) } };
    const [kind, code] = own(this.grammar.codes, text) ?? own(this.grammar.codes, text.replace(/[ -]/g, "_")) ?? [];
    if (!kind || !code) return text.endsWith("s") ? this.code(text.slice(0, -1)) : null;
    return { kind, words: text, asks: kind === "option" ? { options: new Set([code]) } : { [kind]: code } };
  }

  private provider(text: string): Meaning | null {
    const provider = own(this.grammar.providers, text);
    return provider ? { kind: "provider", words: text, asks: { providers: new Set([provider]) } } : null;
  }

  /** A machine type or a family. */
  private type(phrase: string): Meaning | null {
    const after = this.patterns.named_after.exec(phrase.toLowerCase());
    if (phrase.includes("$") || this.skipped.has(phrase.toLowerCase()) || (after && this.idsOf(after[1]!).length > 0)) return null; // "h100 2" is not H100-2
    const found = [...this.typesOf(phrase), ...this.familyOf(phrase)].map(pairOf);
    return found.length > 0 ? { kind: "type", words: phrase, asks: { machines: new Set(found) } } : null;
  }

  private familyOf(phrase: string): Machine[] {
    const name = normal(phrase);
    const starts = name.includes("_") ? [`${name}_`, `${name}gpu_`] : [`${name}_`]; // a3 mega is a3-megagpu-8g
    return this.machines.filter(({ spellings }) => spellings.some((text) => starts.some((start) => text.startsWith(start))));
  }

  private typesOf(phrase: string): Machine[] {
    const exact = this.machines.filter(({ type }) => type === phrase);
    if (exact.length > 0) return exact;
    const [name, letters] = [normal(phrase), squeezed(phrase)];
    const same = this.machines.filter(({ spellings }) => spellings.includes(name));
    return same.length > 0 || !letters ? same : this.machines.filter(({ spellings }) => spellings.some((text) => squeezed(text) === letters));
  }

  /** The name of an accelerator; of several words the last ones may be begun: "h100 sxm". */
  private named(text: string, start = false): Meaning | null {
    const words = text.split(" ");
    if (words.some((word) => this.skipped.has(word) || own(this.grammar.kinds, word) === ANY_KIND)) return null;
    if (this.grammar.no_names.includes(words[0]!)) return null;
    const mayBegin = start || (words.length > 1 && this.accelerator(words[0]!) !== null);
    return this.accelerator(text) ?? (mayBegin ? this.accelerator(text, true) : null);
  }

  /** The name of an accelerator, or its plural: "h100s". */
  private accelerator(text: string, start = false): Meaning | null {
    const { bridge } = this.grammar;
    const ids = this.idsOf(text, start);
    if (text.endsWith(` ${bridge}`)) ids.push(...this.bridged(new Set(this.idsOf(text.slice(0, -bridge.length - 1)))));
    if (ids.length > 0) return { kind: "accelerator", words: text, asks: { accelerators: new Set(ids) } };
    return text.endsWith("s") ? this.accelerator(text.slice(0, -1), start) : null;
  }

  private idsOf(text: string, start = false): string[] {
    const { accelerators } = this.grammar;
    if (accelerators.includes(text)) return [text];
    const words = text.split(/[\s_-]+/).map(squeezed).filter(Boolean);
    const ofWords = words.map((word) => {
      const whole = own(this.grammar.accelerator_words, word);
      const mayBegin = this.grammar.forms.includes(word) ? word === this.grammar.forms[0] : !whole; // sxm, but nvl is not nvlink
      return new Set(start && mayBegin ? this.begun(word) : whole);
    });
    const found = [...(ofWords[0] ?? [])].filter((position) => ofWords.every((positions) => positions.has(position)));
    return found.sort((one, other) => one - other).map((position) => accelerators[position]!);
  }

  /** Fewer of the accelerators named before: "a100 80 gb sxm4" is one board. A form does not affect devices that never come in it. */
  private narrowed(text: string): Meaning | null {
    const { accelerators, architectures, ids: known } = this.grammar;
    const areUnknown = this.chosen.size > 0 && accelerators.slice(0, known).every((id) => !this.chosen.has(id));
    if (areUnknown && architectures.includes(text)) return { kind: "accelerator", words: text, asks: { accelerators: this.chosen }, narrows: true };
    const isForm = text.split(" ").some((word) => this.grammar.forms.includes(word));
    const fewer = this.idsOf(text, isForm).filter((id) => this.chosen.has(id));
    if (text === this.grammar.bridge) fewer.push(...this.bridged(this.chosen));
    if (fewer.length === 0) return null;
    if (this.skipped.has(text) && ![...this.chosen].every((id) => id.startsWith(fewer[0]!.split(`-${text}`)[0]!))) return null; // "rtx pro 6000 server"
    const devices = new Set(fewer.map((id) => this.withoutForm(id)));
    const others = this.grammar.forms.includes(text) ? [...this.chosen].filter((id) => !devices.has(this.withoutForm(id))) : [];
    return { kind: "accelerator", words: text, asks: { accelerators: new Set([...fewer, ...others]) }, narrows: true };
  }

  /** Machines with these accelerators whose name has NVLink: PCIe cards with a bridge. */
  private bridged(ids: ReadonlySet<string>): string[] {
    const { bridge } = this.grammar;
    return this.machines.filter(({ spellings, device }) => spellings[0]!.includes(bridge) && ids.has(device)).map(pairOf);
  }

  /** Whether one of the machines has one of the accelerators. */
  private haveAny(machines: ReadonlySet<string>, accelerators: ReadonlySet<string>): boolean {
    return this.machines.some((machine) => machines.has(pairOf(machine)) && (accelerators.has(machine.device) || accelerators.has(pairOf(machine))));
  }

  /** An id without form and memory, in which the forms of a device differ: nvidia-h100. */
  private withoutForm(id: string): string {
    return id
      .split("-")
      .filter((part) => !this.grammar.forms.includes(part) && !part.endsWith("gb"))
      .join("-");
  }

  /** A number is never the beginning of a larger one: "40" is in "40gb" and "4" is not. */
  private begun(word: string): number[] {
    if (word.length < this.grammar.min_begun) return [];
    const begins = (name: string) => name.startsWith(word) && !this.grammar.whole_words.includes(name) && !/^\d\d/.test(name.slice(word.length - 1));
    return Object.entries(this.grammar.accelerator_words).flatMap(([name, positions]) => (begins(name) ? positions : []));
  }

  private place(text: string): Meaning | null {
    const positions = own(this.grammar.places, text);
    if (!positions) return null;
    return { kind: "place", words: text, asks: { regions: new Set(positions.map((position) => this.grammar.regions[position]!.join("|"))) } };
  }

  private merged(meanings: Meaning[]): Asks {
    const asks = nothing() as unknown as Record<string, unknown>;
    for (const { asks: more, narrows, isAdded } of meanings) {
      for (const [name, value] of Object.entries(more)) {
        const before = asks[name] as ReadonlySet<unknown>;
        const isPlace = name === "regions" && !isAdded;
        if (!(value instanceof Set) || narrows || (isPlace && isPart(value, before))) asks[name] = value;
        else if (!isPlace || !isPart(before, value)) asks[name] = new Set([...before, ...value]);
      }
    }
    const { accelerators, kinds, machines } = asks as unknown as Asks;
    if (machines.size > 0 && accelerators.size > 0 && !this.haveAny(machines, accelerators)) {
      // "g6.xlarge vs h100"
      const withDevice = this.machines.filter((machine) => machine.device && machines.has(pairOf(machine))).map(pairOf);
      for (const pair of withDevice.length > 0 ? withDevice : machines) accelerators.add(pair);
      machines.clear();
    }
    if (accelerators.size > 0) kinds.delete(ANY_KIND); // "h100 gpu" asks for the H100
    return asks as unknown as Asks;
  }

  /** Whether a word is within the name of a machine, so that typing one finds it before it is complete. */
  private isPart(word: string): boolean {
    return this.machines.some(({ type }) => type.toLowerCase().includes(word.toLowerCase()));
  }

  private near(word: string): string[] {
    const text = word.toLowerCase().replace(this.patterns.counted, "$2");
    const { short_names: names, places, providers, codes } = this.grammar;
    const words = new Set([...names, ...Object.keys(providers), ...Object.keys(codes), ...Object.keys(places), ...this.types]);
    return [...words]
      .map((name) => ({ name, alike: alike(text, name) }))
      .filter(({ alike: ratio }) => ratio >= NEAR)
      .sort((one, other) => other.alike - one.alike)
      .slice(0, MOST_NEAR)
      .map(({ name }) => name);
  }
}

function pairOf({ provider, type }: Machine): string {
  return `${provider}|${type}`;
}

function exactly(count: number, { kind, asks, narrows }: Meaning, words: string): Meaning {
  return { kind, words, asks: { ...asks, count }, narrows };
}

/** Whether a set that is not empty is within another. */
function isPart(set: ReadonlySet<unknown>, other: ReadonlySet<unknown>): boolean {
  return set.size > 0 && [...set].every((value) => other.has(value));
}

export function nothing(): Asks {
  const none = { count: null, gpuMemory: null, vcpus: null, memory: null, arch: null, os: null, maxPrice: null, maxPricePerGpu: null };
  const sets = ["accelerators", "kinds", "machines", "providers", "regions", "options", "terms", "payments", "parts"];
  return { ...none, ...Object.fromEntries(sets.map((name) => [name, new Set()])) } as unknown as Asks;
}

/** Whether a question is about machines without accelerators, or about single machine types. */
export function asksForMachines({ asks }: Reading): boolean {
  const isOfGpus = asks.accelerators.size > 0 || asks.count !== null || asks.gpuMemory !== null;
  return asks.kinds.has(NO_ACCELERATOR) || (!isOfGpus && (asks.machines.size > 0 || asks.parts.size > 0 || asks.vcpus !== null || asks.memory !== null));
}

function machinesOf(offers: Table, prefixes: Record<string, string>): Machine[] {
  const [provider, type] = [offers.column("provider"), offers.column("instance_type")];
  const [id, vendorName] = [offers.column("accelerator_id"), offers.column("device")];
  const seen = new Set<number>();
  const machines: Machine[] = [];
  for (let row = 0; row < offers.rows; row++) {
    const key = provider.codes[row]! * (type.values.length + 1) + type.codes[row]!;
    if (seen.has(key)) continue;
    seen.add(key);
    const [seller, name, device] = [provider.text(row), type.text(row), id.text(row) || vendorName.text(row)];
    const full = normal(name);
    const prefix = own(prefixes, seller);
    machines.push({ provider: seller, type: name, device, spellings: prefix && full.startsWith(prefix) ? [full, full.slice(prefix.length)] : [full] });
  }
  return machines;
}

/** A name in lower case with one separator, as read/find/machines.py spells it. */
function normal(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "");
}

function squeezed(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

function own<T>(words: Record<string, T>, word: string): T | undefined {
  return Object.hasOwn(words, word) ? words[word] : undefined;
}

/** How alike two words are, from 0 to 1: twice their longest common subsequence over both lengths. */
function alike(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > Math.max(one.length, other.length) / 2) return 0;
  let last = new Uint8Array(other.length + 1);
  for (const letter of one) {
    const next = new Uint8Array(other.length + 1);
    for (let position = 0; position < other.length; position++) {
      next[position + 1] = other[position] === letter ? last[position]! + 1 : Math.max(last[position + 1]!, next[position]!);
    }
    last = next;
  }
  return (2 * last[other.length]!) / (one.length + other.length);
}
