/** Accelerators: up to six side by side, and a list of all. */

import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "./app";
import { cheapest, cheapestRow, lowest, offersOf, type Price } from "./cheapest";
import { flagOf, WAYS } from "./prices";
import { integer, number, usd } from "./format";
import { acceleratorPage } from "./links";
import { offerKey, communityTitle, type Release, type Row } from "./release";
import { Group, Sheet } from "./sheet";
import { Figure, sourceLine, useSource, type Source } from "./source";
import { list, listText } from "./state";
import { SortHeading } from "./table";

const MOST = 6;
const FIRST_SHOWN = 5; // accelerators side by side when the address names none
const FIRST_LISTED = 40; // of the list of all, until somebody asks for the others
const NEWER_SINCE = 2022; // the year of the H100

const FORMATS = [
  ["fp64", "FP64"],
  ["fp32", "FP32"],
  ["tf32", "TF32"],
  ["bf16", "BF16"],
  ["fp16", "FP16"],
  ["fp8", "FP8"],
  ["fp4", "FP4"],
  ["int8", "INT8"],
] as const;

const SHEET_LINES: { heading: string; column: string; unit?: string }[] = [
  { heading: "Maker", column: "vendor" },
  { heading: "Year", column: "release_year" },
  { heading: "Architecture", column: "architecture" },
  { heading: "Form", column: "form_factor" },
  { heading: "Memory", column: "memory_gb", unit: "GB" },
  { heading: "Memory type", column: "memory_type" },
  { heading: "Bandwidth", column: "memory_bandwidth_gbs", unit: "GB/s" },
  { heading: "Interconnect", column: "interconnect" },
  { heading: "Interconnect bandwidth", column: "interconnect_gbs", unit: "GB/s" },
  { heading: "Power", column: "tdp_w", unit: "W" },
];

/** Extra columns of the sheet with the source of one figure. */
const OWN_SOURCE: Record<string, string> = {
  tdp_estimate_w: "tdp_estimate_source",
  launch_price_usd: "launch_price_source",
  purchase_price_usd: "purchase_price_source",
  embodied_kgco2e: "embodied_source",
};

/** Means none in the address: an empty parameter would mean the usual ones. */
const NO_DEVICE = "none";

export function Accelerators({ release, parameters, change }: ViewProps) {
  const chosen = useMemo(() => chosenDevices(release, parameters.devices), [parameters.devices]);
  const { show, dialog } = useSource();
  const set = (ids: string[], push = false) => change({ devices: listText(ids) || NO_DEVICE }, push);
  const toggle = (id: string) => set(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  const rows = chosen.map((id) => release.accelerators.get(id)!);
  return (
    <section class="sheet-view">
      <div class="title-row">
        <h1>Accelerators</h1>
        <label>
          <span class="hidden">Add an accelerator</span>
          <input type="search" list="devices" placeholder="Add a GPU: H200, MI300X, L4 …" disabled={chosen.length >= MOST} onInput={({ currentTarget: input }) => {
            const row = release.facts.accelerators.find(({ name }) => name === input.value);
            if (!row) return;
            input.value = "";
            toggle(String(row.accelerator_id));
          }} />
          <datalist id="devices">
            {release.facts.accelerators.map(({ accelerator_id: id, name }) => !chosen.includes(String(id)) && <option key={id} value={String(name)} />)}
          </datalist>
        </label>
        <p>Up to six. Click a figure for its source.</p>
      </div>
      <Sheet
        label="Accelerators side by side"
        heads={rows.map((row) => ({ name: String(row.name), href: acceleratorPage(String(row.accelerator_id)), remove: () => toggle(String(row.accelerator_id)) }))}
      >
        {GROUPS.map(({ heading, lines, none, folded }) => (
          <Group
            key={heading}
            heading={heading}
            columns={rows.length}
            folded={folded}
            none={none}
            lines={() => lines(release, rows).map((line) => <SheetLine key={`${line.heading} ${line.note}`} line={line} rows={rows} show={show} />)}
          />
        ))}
      </Sheet>
      <All release={release} chosen={chosen} toggle={toggle} parameters={parameters} change={change} />
      {dialog}
    </section>
  );
}

/** A figure with its source, or what is there instead. */
type Cell = Omit<Source, "title"> | string | null;

interface Line {
  heading: string;
  note?: string;
  /** What a figure is called, where the heading is not enough. */
  title?: string;
  cell: (row: Row) => Cell;
}

function SheetLine({ line: { heading, note, title, cell }, rows, show }: { line: Line; rows: Row[]; show: (source: Source) => void }) {
  return (
    <tr>
      <th scope="row">
        {heading}
        {note && <small> {note}</small>}
      </th>
      {rows.map((row) => {
        const own = cell(row);
        return (
          <td key={row.accelerator_id}>
            {own !== null && typeof own === "object" ? (
              <Figure source={{ ...own, title: `${String(row.name)}: ${title ?? heading}` }} show={show} />
            ) : (
              <span class="muted">{own ?? "–"}</span>
            )}
          </td>
        );
      })}
    </tr>
  );
}

interface GroupOfLines {
  heading: string;
  lines: (release: Release, rows: Row[]) => Line[];
  none?: string;
  folded?: boolean;
}

const GROUPS: GroupOfLines[] = [
  { heading: "Device", lines: deviceLines },
  { heading: "Dense peak rates, TFLOPS (INT8: TOPS)", lines: rateLines },
  { heading: "Cheapest price, $/GPU-h", lines: priceLines, none: "No cloud of this release sells one of them in USD." },
  { heading: "$/PFLOPS-h, on-demand", lines: pflopLines },
  { heading: "$/1M tokens, from measurements", lines: tokenLines, none: "No measurement of a machine that is sold." },
  { heading: "MLPerf results per accelerator", lines: measuredLines, none: "No MLPerf result names one of them.", folded: true },
];

/** Those in the address; else, of the newer ones, those that the most clouds sell. */
function chosenDevices(release: Release, text: string | undefined): string[] {
  if (text !== undefined) return list(text).filter((id) => release.accelerators.has(id)).slice(0, MOST);
  const prices = cheapest(release);
  const sold = [...release.accelerators.values()].filter(
    (row) => lowest(prices.get(String(row.accelerator_id)), WAYS[0].column) && row.bf16_dense_tflops,
  );
  const newer = sold.filter((row) => Number(row.release_year ?? 0) >= NEWER_SINCE);
  const clouds = (row: Row) => prices.get(String(row.accelerator_id))!.size;
  return (newer.length > 0 ? newer : sold)
    .sort((one, other) => clouds(other) - clouds(one))
    .slice(0, FIRST_SHOWN)
    .map((row) => String(row.accelerator_id));
}

function rowSource(release: Release, row: Row, column: string): Source["lines"] {
  const described = release.facts.accelerator_columns[column];
  const own = OWN_SOURCE[column];
  const address = String((own && row[own]) || row.source_url || "");
  const lines = [
    { term: "What it is", text: described?.description ?? column },
    sourceLine("Source", address),
    { term: "Read on", text: String(row.as_of ?? "") },
    { term: "Confidence", text: `${String(row.confidence ?? "")}${row.verified ? ", verified" : ", not verified a second time"}` },
  ];
  return row.notes ? [...lines, { term: "Notes", text: String(row.notes) }] : lines;
}

function deviceLines(release: Release): Line[] {
  return SHEET_LINES.map(({ heading, column, unit }) => ({
    heading,
    note: unit,
    cell: (row) => {
      const value = row[column];
      if (value === undefined) return column === "tdp_w" && row.tdp_estimate_w ? `not published (estimate ${number(Number(row.tdp_estimate_w))})` : null;
      const shown = typeof value === "number" && column !== "release_year" ? number(value) : String(value);
      return { shown, value: `${shown} ${unit ?? ""}`.trim(), lines: rowSource(release, row, column) };
    },
  }));
}

function rateLines(release: Release): Line[] {
  return FORMATS.map(([format, heading]) => ({
    heading,
    cell: (row) => {
      const column = `${format}_dense_${format.startsWith("int") ? "tops" : "tflops"}`;
      const value = row[column];
      if (typeof value === "number") return { value: number(value), lines: rowSource(release, row, column) };
      const support = row[`${format}_support`];
      return support === "unsupported" ? "no" : support === "supported" ? "yes, rate not published" : null;
    },
  }));
}

function priceLines(release: Release, rows: Row[]): Line[] {
  return release.providerIds.flatMap((provider) =>
    [false, true].flatMap((community) => {
      const title = release.providerTitle(provider);
      const priceOf = (row: Row, column: string) => cheapest(release, community).get(String(row.accelerator_id))?.get(provider)?.get(column);
      return WAYS.filter(({ column }) => rows.some((row) => priceOf(row, column))).map(({ column, heading }) => ({
        heading: community ? communityTitle(title) : title,
        note: heading,
        title: heading,
        cell: (row: Row) => {
          const price = priceOf(row, column);
          return price ? priceSource(release, column, price) : null;
        },
      }));
    }),
  );
}

function priceSource(release: Release, column: string, price: Price): Cell {
  const count = release.offers.column("accelerator_count").number(price.row)!;
  const flag = column === WAYS[1].column ? flagOf(release, price.row, column) : "";
  return {
    value: `${usd(price.usd)}${flag && " ⚑"}`,
    lines: [
      ...(flag ? [{ term: "Flagged", text: flag }] : []),
      { term: "How", text: `${usd(price.usd * count)} for the machine / ${number(count)} accelerators` },
      offerLine(release, price.row),
      { term: "Which", text: "The cheapest in USD over all regions of this provider: Linux, shared tenancy." },
    ],
  };
}

function offerLine({ offers }: Release, row: number): Source["lines"][number] {
  const text = offers.texts(row, "provider", "region", "instance_type").join(" · ");
  return { term: "Offer", text, href: `#offers?${new URLSearchParams({ open: offerKey(offers, row) })}` };
}

function pflopLines(release: Release): Line[] {
  return (["bf16", "fp8"] as const).map((format) => ({
    heading: format.toUpperCase(),
    title: `USD per ${format.toUpperCase()} PFLOPS and hour`,
    cell: (row) => {
      const price = lowest(cheapest(release).get(String(row.accelerator_id)), WAYS[0].column);
      const rate = row[`${format}_dense_tflops`];
      if (!price || typeof rate !== "number" || rate === 0) return null;
      return {
        value: usd((price.usd / rate) * 1000),
        lines: [
          { term: "How", text: `${usd(price.usd)} / ${number(rate)} TFLOPS × 1000, dense peak rate` },
          offerLine(release, price.row),
          sourceLine("Rate", String(row.source_url)),
        ],
      };
    },
  }));
}

const TOKENS = /^usd_per_million_tokens_(.+)$/;

/** The lengths that such a price is for, in the description of its column. */
const LENGTHS = /[\d,]+ tokens in, [\d,]+ out|lengths not known/;

function tokenLines(release: Release, rows: Row[]): Line[] {
  const lowestOf = (row: Row, name: string) => {
    const own = offersOf(release, new Set([String(row.accelerator_id)])).filter((offer) => !release.isCommunity(offer));
    return cheapestRow(release.offers.column(name), own);
  };
  return release.facts.columns
    .filter(({ name }) => TOKENS.test(name) && rows.some((row) => lowestOf(row, name)))
    .map((info) => ({
      heading: modelName(TOKENS.exec(info.name)![1]!),
      note: LENGTHS.exec(info.description)?.[0],
      title: info.heading,
      cell: (row) => {
        const price = lowestOf(row, info.name);
        if (!price) return null;
        const measured = { term: "Measured by", text: release.offers.column("benchmark_rounds").text(price.row) };
        return { value: usd(price.usd), lines: [{ term: "How", text: info.description }, measured, offerLine(release, price.row)] };
      },
    }));
}

function measuredSystem(result: Row): string {
  const count = Number(result.accelerator_count ?? 0);
  return count ? `${String(result.system)}, ${integer(count)} accelerator${count === 1 ? "" : "s"}` : String(result.system);
}

/** One spelling of a model: llama31_405b and llama3_1_405b are llama3.1-405b. */
function modelName(text: string): string {
  return text.replaceAll("_", "-").replace(/^llama(\d)-?(\d)-/, "llama$1.$2-");
}

function lengthsOf(result: Row): string {
  return `${integer(Number(result.input_tokens))} tokens in, ${integer(Number(result.output_tokens))} out`;
}

function measuredLines(release: Release, rows: Row[]): Line[] {
  const ids = new Set(rows.map((row) => row.accelerator_id));
  const own = release.facts.benchmarks.filter((result) => ids.has(result.accelerator_id));
  const kinds = Map.groupBy(own, (result) => `${modelName(String(result.model))}, ${String(result.scenario)}`);
  return [...kinds].map(([heading, results]) => ({
    heading,
    note: String(results[0]!.unit).replace(" per accelerator", ""),
    cell: (row) => {
      const result = results.find((candidate) => candidate.accelerator_id === row.accelerator_id);
      if (!result) return null;
      return {
        value: number(Number(result.per_accelerator)),
        lines: [
          { term: "Unit", text: String(result.unit) },
          { term: "System", text: measuredSystem(result) },
          ...(result.input_tokens ? [{ term: "Lengths", text: lengthsOf(result) }] : []),
          { term: "Round", text: `MLPerf ${String(result.round)}${result.official ? "" : ", not official"}` },
          sourceLine("Source", String(result.source_url ?? "")),
        ],
      };
    },
  }));
}

const LIST_COLUMNS = [
  { heading: "Year", unit: "", column: "release_year" },
  { heading: "Memory", unit: "GB", column: "memory_gb" },
  { heading: "Bandwidth", unit: "GB/s", column: "memory_bandwidth_gbs" },
  { heading: "BF16", unit: "TFLOPS", column: "bf16_dense_tflops" },
  { heading: "FP8", unit: "TFLOPS", column: "fp8_dense_tflops" },
  { heading: "Power", unit: "W", column: "tdp_w" },
  { heading: "On-demand from", unit: "USD/h", column: "min_usd_per_accelerator_hour" },
  { heading: "Spot from", unit: "USD/h", column: "min_spot_usd_per_accelerator_hour" },
] as const;

interface AllProps extends ViewProps {
  chosen: string[];
  toggle: (id: string) => void;
}

function All({ release, chosen, toggle, parameters, change }: AllProps) {
  const search = parameters.search ?? "";
  const [whole, setWhole] = useState(false);
  const sort = listSort(parameters.sort);
  const isFull = chosen.length >= MOST;
  const matching = release.facts.accelerators.filter((row) =>
    `${String(row.name)} ${String(row.vendor)} ${String(row.kind)}`.toLowerCase().includes(search.toLowerCase()),
  );
  const { column } = LIST_COLUMNS[sort.position]!;
  const direction = sort.descending ? -1 : 1;
  const rows = matching.sort((one, other) => {
    const [left, right] = [one[column] as number | undefined, other[column] as number | undefined];
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    return (left - right) * direction;
  });
  return (
    <section class="all">
      <div class="title-row">
        <h2>All {release.facts.accelerators.length} accelerators</h2>
        <input
          type="search"
          aria-label="Search accelerators"
          placeholder="Search by name, maker or kind"
          value={search}
          onInput={(event) => change({ search: event.currentTarget.value })}
        />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="All accelerators, scrollable">
        <table>
          <caption class="hidden">All accelerators of the sheet</caption>
          <thead>
            <tr>
              <th class="tick">
                <span class="hidden">Side by side</span>
              </th>
              <th>Name</th>
              <th>Maker</th>
              {LIST_COLUMNS.map(({ heading, unit }, position) => (
                <SortHeading
                  key={heading}
                  info={{ name: heading, heading, unit, kind: "number", description: "" }}
                  direction={position === sort.position ? (sort.descending ? "descending" : "ascending") : null}
                  sort={(next) => change({ sort: next })}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {(whole ? rows : rows.slice(0, FIRST_LISTED)).map((row) => (
              <tr key={row.accelerator_id} class={chosen.includes(String(row.accelerator_id)) ? "selected" : undefined}>
                <td class="tick">
                  <input
                    type="checkbox"
                    aria-label={`Show ${String(row.name)} side by side`}
                    checked={chosen.includes(String(row.accelerator_id))}
                    disabled={isFull && !chosen.includes(String(row.accelerator_id))}
                    title={isFull ? `At most ${MOST} stand side by side` : undefined}
                    onChange={() => toggle(String(row.accelerator_id))}
                  />
                </td>
                <th scope="row" class="machine">
                  <a href={acceleratorPage(String(row.accelerator_id))}>{String(row.name)}</a>
                </th>
                <td>{String(row.vendor)}</td>
                {LIST_COLUMNS.map(({ heading, unit, column: name }) => (
                  <td key={heading} class="figure">
                    {listCell(row[name] as number | undefined, heading, unit)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {!whole && rows.length > FIRST_LISTED && (
        <button type="button" class="plain" onClick={() => setWhole(true)}>
          Show all {rows.length}
        </button>
      )}
    </section>
  );
}

/** A sort in the address is the heading of a column, after - in falling order. */
function listSort(text: string | undefined): { position: number; descending: boolean } {
  const asked = LIST_COLUMNS.findIndex(({ heading }) => heading === text?.replace(/^-/, ""));
  const usual = LIST_COLUMNS.findIndex(({ heading }) => heading === "On-demand from");
  return asked < 0 ? { position: usual, descending: false } : { position: asked, descending: text!.startsWith("-") };
}

function listCell(value: number | undefined, heading: string, unit: string): string {
  if (value === undefined) return "–";
  if (unit.startsWith("USD")) return usd(value);
  return heading === "Year" ? String(value) : number(value);
}
