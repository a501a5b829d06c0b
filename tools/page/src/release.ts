/** What the page knows of the release: its facts, and the table of offers. */

import { money } from "./format";
import { Reader, type Grammar } from "./grammar";
import type { Table } from "./payload";
import type { Region } from "./map/places";
import type { AnsweredModel } from "./answers";

export interface ColumnInfo {
  name: string;
  heading: string;
  group: string;
  kind: "text" | "number" | "money";
  unit: string;
  description: string;
  /** The purchase option of which it is the price, with the months and payment of a commitment. */
  option: string;
  months: number;
  payment: string;
}

export interface Provider {
  id: string;
  title: string;
  status: string;
  kept_from: string | null;
  origin: string;
  observed_from: string | null;
  observed_to: string | null;
  offers: number;
  machines: number;
  regions: number;
  regions_listed: number;
  currencies: string[];
  no_on_demand_price: Record<string, number>;
  troubles: { unit: string; status: string; reason: string }[];
  refused: Record<string, number>;
}

export interface About {
  version: string;
  created_at: string;
  schema_version: string;
  code_version: string;
  content_sha256: string;
  tables: Record<string, number>;
  providers: Provider[];
  unmatched_accelerators: {
    provider: string;
    vendor_name: string | null;
    accelerator_id: string | null;
    instance_types: string[];
  }[];
  citation: string;
}

/** A row of accelerators, benchmarks or local_hardware; what is null is left out. */
export type Row = Record<string, string | number | boolean | string[] | undefined>;

export interface Facts {
  about: About;
  /** Which machine types have a page of their own. */
  machine_pages: "all" | "accelerators";
  /** Since the release before. */
  changes: { lines: string[]; prices: Row[] };
  columns: ColumnInfo[];
  accelerators: Row[];
  accelerator_columns: Record<string, { description?: string; unit?: string }>;
  benchmarks: Row[];
  machines_to_buy: Row[];
  ownership: Ownership;
  /** Models that the page answers about; the table answers has their machines. */
  recommend: AnsweredModel[];
  /** Provider and region whose machines are of community hosts. */
  private_hosts: [string, string][];
  /** Regions with a position. */
  regions: Region[];
  grammar: Grammar;
}

export interface Ownership {
  lifetime_years: number;
  utilisation: number;
  usd_per_kwh: number;
  pue: number;
}

export class Release {
  readonly columns: Map<string, ColumnInfo>;
  readonly options: ColumnInfo[];
  private readonly providers: Map<string, Provider>;
  readonly accelerators: Map<string, Row>;
  private withDevice: number[] | undefined;

  readonly offers: Table;
  /** On-demand prices with the time they were valid; null while there is one release only. */
  readonly history: Table | null;
  /** The machines of the view "Recommend". */
  readonly answers: Table;
  readonly reader: Reader;
  private readonly community: Uint8Array;

  constructor(
    readonly facts: Facts,
    tables: Map<string, Table>,
  ) {
    this.offers = tables.get("offers")!;
    this.history = tables.get("history") ?? null;
    this.answers = tables.get("answers")!;
    this.reader = new Reader(facts.grammar, this.offers);
    this.community = communityRows(this.offers, facts.private_hosts);
    this.columns = new Map(facts.columns.map((column) => [column.name, column]));
    this.options = facts.columns.filter((column) => column.option !== "");
    this.providers = new Map(facts.about.providers.map((provider) => [provider.id, provider]));
    this.accelerators = new Map(facts.accelerators.map((row) => [String(row.accelerator_id), row]));
  }

  providerTitle(id: string): string {
    return this.providers.get(id)?.title ?? id;
  }

  /** Whether a row of offers is a machine of a community host. */
  isCommunity(row: number): boolean {
    return this.community[row] === 1;
  }

  private isCommunityPlace(provider: string, region: string): boolean {
    return this.facts.private_hosts.some(([host, place]) => host === provider && place === region);
  }

  /** Who rents out machines in a region: a provider, or community hosts by way of it. */
  sellerTitle(provider: string, region: string): string {
    const title = this.providerTitle(provider);
    return this.isCommunityPlace(provider, region) ? communityTitle(title) : title;
  }

  /** The providers in the order of the release; a provider's colour follows from its place. */
  get providerIds(): string[] {
    return [...this.providers.keys()];
  }

  get sampleOnly(): boolean {
    return this.facts.about.providers.every((provider) => provider.origin === "sample");
  }

  /** The rows of offers with a known accelerator: few, and used often. */
  get deviceRows(): readonly number[] {
    if (!this.withDevice) {
      const { codes } = this.offers.column("accelerator_id");
      this.withDevice = [];
      for (let row = 0; row < this.offers.rows; row++) if (codes[row] !== 0) this.withDevice.push(row);
    }
    return this.withDevice;
  }

  /** The name of a machine to buy. */
  localName(id: string): string {
    return String(this.facts.machines_to_buy.find((row) => row.device_id === id)?.name ?? id);
  }

  heading(column: string): string {
    return this.columns.get(column)?.heading ?? column.replaceAll("_", " ");
  }
}

/** Who rents out the machine of an offer. */
export function seller(release: Release, row: number): string {
  const { offers } = release;
  const [provider, region] = offers.texts(row, "provider", "region");
  return release.sellerTitle(provider!, region!);
}

/** What a provider's machines of community hosts are called. */
export function communityTitle(provider: string): string {
  return `${provider} community`;
}

function communityRows(offers: Table, hosts: [string, string][]): Uint8Array {
  const found = new Uint8Array(offers.rows);
  for (const [provider, region] of hosts) for (const row of offers.where({ provider, region })) found[row] = 1;
  return found;
}

/** A price in the currency of its offer, which is never converted. */
export function ownPrice(offers: Table, row: number): string {
  const price = offers.column("on_demand_hourly").number(row);
  return price === null ? "" : `${offers.column("currency").text(row)} ${money(price)} /h`;
}

/** An offer is named by the three columns of its key. */
export function offerKey(offers: Table, row: number): string {
  return offers.texts(row, "provider", "region", "instance_type").join("|");
}

export function findOffer(offers: Table, key: string): number | null {
  const [provider = "", region = "", ...type] = key.split("|");
  return offers.where({ provider, region, instance_type: type.join("|") })[0] ?? null;
}
