/** Accelerators: up to six side by side, and a list of all. */

import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "./app";
import { cheapest, cheapestOfCommunity, lowest, type Price } from "./cheapest";
import { flagOf, WAYS } from "./prices";
import { integer, number, usd } from "./format";
import { acceleratorPage } from "./links";
import { offerKey, communityTitle, type Release, type Row } from "./release";
import { Figure, sourceLine, useSource, type Source } from "./source";
import { list, listText } from "./state";

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

const SHEET_LINES: Line[] = [
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

interface Line {
  heading: string;
  column: string;
  unit?: string;
}

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
      <div class="scroll sheet" tabIndex={0} role="region" aria-label="Accelerators side by side, scrollable">
        <table class="compare">
          <caption class="hidden">Accelerators side by side</caption>
          <thead>
            <tr>
              <td />
              {rows.map((row) => (
                <th key={row.accelerator_id} scope="col">
                  <a href={acceleratorPage(String(row.accelerator_id))}>{String(row.name)}</a>
                  <button
                    type="button"
                    class="plain"
                    aria-label={`Remove ${String(row.name)}`}
                    onClick={() => toggle(String(row.accelerator_id))}
                  >
                    Remove
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <Group heading="Device" columns={rows.length}>
            {SHEET_LINES.map((line) => (
              <SheetLine key={line.column} release={release} line={line} rows={rows} show={show} />
            ))}
          </Group>
          <Group heading="Dense peak rates, TFLOPS (INT8: TOPS)" columns={rows.length}>
            {FORMATS.map(([format, heading]) => (
              <RateLine key={format} release={release} format={format} heading={heading} rows={rows} show={show} />
            ))}
          </Group>
          <Group heading="Cheapest price, $/GPU-h" columns={rows.length}>
            <PriceLines release={release} rows={rows} show={show} />
          </Group>
          <Group heading="$/PFLOPS-h, on-demand" columns={rows.length}>
            {(["bf16", "fp8"] as const).map((format) => (
              <PflopLine key={format} release={release} format={format} rows={rows} show={show} />
            ))}
          </Group>
          <Group heading="$/1M tokens, from measurements" columns={rows.length}>
            <TokenLines release={release} rows={rows} show={show} />
          </Group>
          <Group heading="MLPerf results per accelerator" columns={rows.length} folded>
            <MeasuredLines release={release} rows={rows} show={show} />
          </Group>
        </table>
      </div>
      <All release={release} chosen={chosen} toggle={toggle} parameters={parameters} change={change} />
      {dialog}
    </section>
  );
}

interface GroupProps {
  heading: string;
  columns: number;
  /** Whether its lines are shown on a click only. */
  folded?: boolean;
  children: preact.ComponentChildren;
}

function Group({ heading, columns, folded, children }: GroupProps) {
  const [open, setOpen] = useState(!folded);
  return (
    <tbody>
      <tr class="group">
        <th scope="rowgroup" colSpan={columns + 1}>
          {folded ? (
            <button type="button" class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "▾" : "▸"} {heading}
            </button>
          ) : (
            heading
          )}
        </th>
      </tr>
      {open && children}
    </tbody>
  );
}

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

function Dash() {
  return <span class="muted">–</span>;
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

interface LineProps {
  release: Release;
  rows: Row[];
  show: (source: Source) => void;
}

function SheetLine({ release, line, rows, show }: LineProps & { line: Line }) {
  return (
    <tr>
      <th scope="row">
        {line.heading}
        {line.unit && <small> {line.unit}</small>}
      </th>
      {rows.map((row) => {
        const value = row[line.column];
        if (value === undefined) return <td key={row.accelerator_id}>{missing(row, line.column)}</td>;
        const isYear = line.column === "release_year";
        const text = typeof value === "number" && !isYear ? number(value) : String(value);
        const source = { title: `${String(row.name)}: ${line.heading}`, value: `${text} ${line.unit ?? ""}`.trim(), lines: rowSource(release, row, line.column) };
        return (
          <td key={row.accelerator_id}>
            <Figure source={{ ...source, value: text }} show={() => show(source)} />
          </td>
        );
      })}
    </tr>
  );
}

function missing(row: Row, column: string) {
  if (column === "tdp_w" && row.tdp_estimate_w) {
    return <span class="muted">not published (estimate {number(Number(row.tdp_estimate_w))})</span>;
  }
  return <Dash />;
}

function RateLine({ release, format, heading, rows, show }: LineProps & { format: string; heading: string }) {
  const column = `${format}_dense_${format.startsWith("int") ? "tops" : "tflops"}`;
  return (
    <tr>
      <th scope="row">{heading}</th>
      {rows.map((row) => {
        const value = row[column];
        if (typeof value !== "number") {
          const support = row[`${format}_support`];
          return (
            <td key={row.accelerator_id} class="muted">
              {support === "unsupported" ? "no" : support === "supported" ? "yes, rate not published" : "–"}
            </td>
          );
        }
        const source = { title: `${String(row.name)}: ${heading}`, value: number(value), lines: rowSource(release, row, column) };
        return (
          <td key={row.accelerator_id}>
            <Figure source={source} show={show} />
          </td>
        );
      })}
    </tr>
  );
}

function PriceLines({ release, rows, show }: LineProps) {
  const sellers = release.providerIds.flatMap((provider) => {
    const title = release.providerTitle(provider);
    return [
      { provider, title, prices: cheapest(release) },
      { provider, title: communityTitle(title), prices: cheapestOfCommunity(release) },
    ];
  });
  const lines = sellers.flatMap((seller) =>
    WAYS.map(({ column, heading }) => ({ ...seller, column, heading })).filter(({ provider, prices, column }) =>
      rows.some((row) => prices.get(String(row.accelerator_id))?.get(provider)?.has(column)),
    ),
  );
  if (lines.length === 0) return <Nothing columns={rows.length} text="No cloud of this release sells one of them in USD." />;
  return (
    <>
      {lines.map(({ provider, title, prices, column, heading }) => (
        <tr key={`${title} ${column}`}>
          <th scope="row">
            {title} <small>{heading}</small>
          </th>
          {rows.map((row) => {
            const price = prices.get(String(row.accelerator_id))?.get(provider)?.get(column);
            return (
              <td key={row.accelerator_id}>
                {price ? <PriceFigure release={release} row={row} heading={heading} price={price} show={show} /> : <Dash />}
              </td>
            );
          })}
        </tr>
      ))}
    </>
  );
}

function offerLine(release: Release, row: number): Source["lines"][number] {
  const text = ["provider", "region", "instance_type"].map((name) => release.offers.column(name).text(row));
  return { term: "Offer", text: text.join(" · "), href: `#offers?${new URLSearchParams({ open: offerKey(release.offers, row) })}` };
}

interface PriceFigureProps {
  release: Release;
  row: Row;
  heading: string;
  price: Price;
  show: (source: Source) => void;
}

function PriceFigure({ release, row, heading, price, show }: PriceFigureProps) {
  const count = release.offers.column("accelerator_count").number(price.row)!;
  const flag = heading === WAYS[1].heading ? flagOf(release, price.row, WAYS[1].column) : "";
  const source: Source = {
    title: `${String(row.name)}: ${heading}`,
    value: `${usd(price.usd)}${flag && " ⚑"}`,
    lines: [
      ...(flag ? [{ term: "Flagged", text: flag }] : []),
      { term: "How", text: `${usd(price.usd * count)} for the machine / ${number(count)} accelerators` },
      offerLine(release, price.row),
      { term: "Which", text: "The cheapest in USD over all regions of this provider: Linux, shared tenancy." },
    ],
  };
  return <Figure source={source} show={show} />;
}

function PflopLine({ release, format, rows, show }: LineProps & { format: "bf16" | "fp8" }) {
  return (
    <tr>
      <th scope="row">{format.toUpperCase()}</th>
      {rows.map((row) => {
        const price = lowest(cheapest(release).get(String(row.accelerator_id)), WAYS[0].column);
        const rate = row[`${format}_dense_tflops`];
        if (!price || typeof rate !== "number" || rate === 0) {
          return (
            <td key={row.accelerator_id}>
              <Dash />
            </td>
          );
        }
        const value = usd((price.usd / rate) * 1000);
        const source = {
          title: `${String(row.name)}: USD per ${format.toUpperCase()} PFLOPS and hour`,
          value,
          lines: [
            { term: "How", text: `${usd(price.usd)} / ${number(rate)} TFLOPS × 1000, dense peak rate` },
            offerLine(release, price.row),
            sourceLine("Rate", String(row.source_url)),
          ],
        };
        return (
          <td key={row.accelerator_id}>
            <Figure source={source} show={show} />
          </td>
        );
      })}
    </tr>
  );
}

const TOKENS = /^usd_per_million_tokens_(.+)$/;

/** The lengths that such a price is for, in the description of its column. */
const LENGTHS = /[\d,]+ tokens in, [\d,]+ out|lengths not known/;

function TokenLines({ release, rows, show }: LineProps) {
  const lowestOf = (row: Row, column: string) => lowestOffer(release, String(row.accelerator_id), column);
  const columns = release.facts.columns.filter(
    (info) => TOKENS.test(info.name) && rows.some((row) => lowestOf(row, info.name)),
  );
  if (columns.length === 0) return <Nothing columns={rows.length} text="No measurement of a machine that is sold." />;
  return (
    <>
      {columns.map((info) => (
        <tr key={info.name}>
          <th scope="row">
            {modelName(TOKENS.exec(info.name)![1]!)} <small>{LENGTHS.exec(info.description)?.[0]}</small>
          </th>
          {rows.map((row) => {
            const price = lowestOf(row, info.name);
            if (!price) {
              return (
                <td key={row.accelerator_id}>
                  <Dash />
                </td>
              );
            }
            const source = {
              title: `${String(row.name)}: ${info.heading}`,
              value: usd(price.usd),
              lines: [
                { term: "How", text: info.description },
                { term: "Measured by", text: release.offers.column("benchmark_rounds").text(price.row) },
                offerLine(release, price.row),
              ],
            };
            return (
              <td key={row.accelerator_id}>
                <Figure source={source} show={show} />
              </td>
            );
          })}
        </tr>
      ))}
    </>
  );
}

function lowestOffer(release: Release, accelerator: string, name: string): Price | null {
  const device = release.offers.column("accelerator_id");
  const column = release.offers.column(name);
  const code = device.code(accelerator);
  let best: Price | null = null;
  for (const row of code > 0 ? release.deviceRows : []) {
    if (device.codes[row] !== code || release.isCommunity(row)) continue;
    const usd = column.number(row);
    if (usd !== null && (!best || usd < best.usd)) best = { usd, row };
  }
  return best;
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

function MeasuredLines({ release, rows, show }: LineProps) {
  const ids = new Set(rows.map((row) => row.accelerator_id));
  const own = release.facts.benchmarks.filter((result) => ids.has(result.accelerator_id));
  const kinds = Map.groupBy(own, (result) => `${modelName(String(result.model))}, ${String(result.scenario)}`);
  if (kinds.size === 0) return <Nothing columns={rows.length} text="No MLPerf result names one of them." />;
  return (
    <>
      {[...kinds].map(([kind, results]) => (
        <tr key={kind}>
          <th scope="row">
            {kind} <small>{String(results[0]!.unit).replace(" per accelerator", "")}</small>
          </th>
          {rows.map((row) => {
            const result = results.find((candidate) => candidate.accelerator_id === row.accelerator_id);
            if (!result) {
              return (
                <td key={row.accelerator_id}>
                  <Dash />
                </td>
              );
            }
            const source = {
              title: `${String(row.name)}: ${kind}`,
              value: number(Number(result.per_accelerator)),
              lines: [
                { term: "Unit", text: String(result.unit) },
                { term: "System", text: measuredSystem(result) },
                ...(result.input_tokens ? [{ term: "Lengths", text: lengthsOf(result) }] : []),
                { term: "Round", text: `MLPerf ${String(result.round)}${result.official ? "" : ", not official"}` },
                sourceLine("Source", String(result.source_url ?? "")),
              ],
            };
            return (
              <td key={row.accelerator_id}>
                <Figure source={source} show={show} />
              </td>
            );
          })}
        </tr>
      ))}
    </>
  );
}

function Nothing({ columns, text }: { columns: number; text: string }) {
  return (
    <tr>
      <td colSpan={columns + 1} class="muted">
        {text}
      </td>
    </tr>
  );
}

const LIST_COLUMNS: { heading: string; unit: string; value: (row: Row) => number | undefined }[] = [
  { heading: "Year", unit: "", value: (row) => row.release_year as number | undefined },
  { heading: "Memory", unit: "GB", value: (row) => row.memory_gb as number | undefined },
  { heading: "Bandwidth", unit: "GB/s", value: (row) => row.memory_bandwidth_gbs as number | undefined },
  { heading: "BF16", unit: "TFLOPS", value: (row) => row.bf16_dense_tflops as number | undefined },
  { heading: "FP8", unit: "TFLOPS", value: (row) => row.fp8_dense_tflops as number | undefined },
  { heading: "Power", unit: "W", value: (row) => row.tdp_w as number | undefined },
  { heading: "On-demand from", unit: "USD/h", value: (row) => row.min_usd_per_accelerator_hour as number | undefined },
  { heading: "Spot from", unit: "USD/h", value: (row) => row.min_spot_usd_per_accelerator_hour as number | undefined },
];

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
  const value = LIST_COLUMNS[sort.position]!.value;
  const direction = sort.descending ? -1 : 1;
  const rows = matching.sort((one, other) => {
    const [left, right] = [value(one), value(other)];
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
              {LIST_COLUMNS.map(({ heading, unit }, position) => {
                const isSorted = position === sort.position;
                return (
                  <th key={heading} class="figure" aria-sort={isSorted ? (sort.descending ? "descending" : "ascending") : undefined}>
                    <button type="button" onClick={() => change({ sort: `${isSorted && !sort.descending ? "-" : ""}${heading}` })}>
                      {heading}
                      <span aria-hidden="true" class="arrow">
                        {isSorted ? (sort.descending ? "▼" : "▲") : ""}
                      </span>
                      {unit && <small>{unit}</small>}
                    </button>
                  </th>
                );
              })}
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
                {LIST_COLUMNS.map(({ heading, unit, value: figure }) => (
                  <td key={heading} class="figure">
                    {listCell(figure(row), heading, unit)}
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
  if (value === undefined) return "";
  if (unit.startsWith("USD")) return usd(value);
  return heading === "Year" ? String(value) : number(value);
}
