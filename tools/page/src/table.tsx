/** The table of offers: its columns and cells. Lines of GPU models open into machines. */

import type { ComponentChildren } from "preact";
import type { ViewProps } from "./app";
import { cell, integer, number, words } from "./format";
import type { Column } from "./payload";
import { flagOf, headingOf, OWN, priceColumn, priced, SYSTEMS, unitOf, WAYS, type Basis } from "./prices";
import { offerKey, seller, type ColumnInfo, type Release } from "./release";
import { addressOf } from "./state";

/** The price of the chosen purchase option, where it has no column of its own. */
export const CHOSEN = "chosen";

const DEFAULT_COLUMNS = ["instance_type", "device", "gpu_gib", "vcpus", "memory_gib", "network_gbps_max", ...WAYS.map(({ column }) => column)];

/** What the table may show besides the columns of offers. */
const OWN_COLUMNS: Record<string, Partial<ColumnInfo>> = {
  instance_type: { heading: "Name", kind: "text" },
  device: { heading: "GPU", kind: "text", description: "The accelerators of the machine." },
  gpu_gib: { heading: "GPU memory", kind: "number", unit: "GiB", description: "Memory of all accelerators of the machine." },
};

/** A line of the table: an offer, or the cheapest offer of a GPU model at a cloud with all others. */
export interface Line {
  row: number;
  /** The offers of the model at the cloud, cheapest first. */
  rows?: number[];
  /** Opened from the line of its model. */
  inside?: boolean;
}

export function shownColumns(release: Release, chosen: string[], basis: Basis): ColumnInfo[] {
  const names = chosen.length > 0 ? chosen : [...DEFAULT_COLUMNS];
  const [first] = basis.columns;
  if (basis.columns.length > 1) names.splice(names.indexOf(WAYS[0].column), 0, CHOSEN);
  else if (first && !names.includes(first)) names.push(first);
  return names.map((name) => columnInfo(release, name, basis)).filter((info) => info !== undefined);
}

export function columnInfo(release: Release, name: string, basis: Basis): ColumnInfo | undefined {
  const info = release.columns.get(name);
  const blank: ColumnInfo = { name, heading: name, group: "", kind: "text", unit: "", description: "", option: "", months: 0, payment: "" };
  if (isPrice(name, info)) {
    const heading = name === CHOSEN ? basis.heading : headingOf(release, name);
    return { ...(info ?? blank), name, heading, kind: "money", unit: unitOf(basis) };
  }
  const own = OWN_COLUMNS[name];
  return own ? { ...(info ?? blank), ...own } : info;
}

/** Whether a column has prices of the machine, which the toggles change. */
function isPrice(name: string, info: ColumnInfo | undefined): boolean {
  return name === CHOSEN || Boolean(info?.option) || WAYS.some(({ column }) => column === name);
}

/** The figures of a column as the table shows and sorts them. */
export function figures(release: Release, name: string, basis: Basis): Column {
  if (name === CHOSEN) return priceColumn(release, basis.columns, basis);
  return isPrice(name, release.columns.get(name)) ? priceColumn(release, [name], basis) : release.offers.column(name);
}

interface RowProps {
  release: Release;
  line: Line;
  shown: ColumnInfo[];
  sorted: string;
  basis: Basis;
  selected: boolean;
  full: string;
  open: boolean;
  toggleSelected: (offer: string) => void;
  toggleOpen: (line: string) => void;
  change: ViewProps["change"];
}

export function Row({ release, line, shown, sorted, basis, selected, full, open, toggleSelected, toggleOpen, change }: RowProps) {
  const { offers } = release;
  const { row, rows } = line;
  const offer = offerKey(offers, row);
  const act = () => (rows ? toggleOpen(lineKey(release, row)) : change({ open: offer }, true));
  const click = (event: MouseEvent) => {
    const target = event.target as Element;
    if (target.closest("a, button, input") || getSelection()?.toString()) return;
    act();
  };
  return (
    <tr class={[selected && "selected", rows && "model", line.inside && "inside"].filter(Boolean).join(" ") || undefined} onClick={click}>
      <td class="tick">
        <input
          type="checkbox"
          aria-label={`Compare ${offers.column("instance_type").text(row)} in ${offers.column("region").text(row)}`}
          checked={selected}
          disabled={Boolean(full) && !selected}
          title={full || undefined}
          onChange={() => toggleSelected(offer)}
        />
      </td>
      {shown.map((info) => {
        if (info.name === "instance_type") return <Name key={info.name} release={release} line={line} offer={offer} open={open} act={act} />;
        const classes = [info.kind !== "text" && "figure", info.name === sorted && "sorted"].filter(Boolean).join(" ");
        return (
          <td
            key={info.name}
            class={classes || undefined}
            data-label={rows && info.name === "device" ? "Cheapest machine" : info.heading}
            data-unit={unitInCard(release, info, row, sorted, basis)}
          >
            <Cell release={release} info={info} row={row} basis={basis} model={Boolean(rows)} />
          </td>
        );
      })}
    </tr>
  );
}

/** The unit of a figure where no heading has it; all prices have that of the one that is sorted by. */
function unitInCard(release: Release, { name, kind, unit }: ColumnInfo, row: number, sorted: string, basis: Basis): string | undefined {
  if (unit === "ratio" || (kind === "money" && name !== sorted) || !figures(release, name, basis).codes[row]) return undefined;
  return unit.replace(/^(\$|USD)/, "") || undefined;
}

/** A line of a model is named by accelerator and cloud. */
export function lineKey({ offers }: Release, row: number): string {
  return offers.texts(row, "device", "provider").join("|");
}

interface NameProps {
  release: Release;
  line: Line;
  offer: string;
  open: boolean;
  act: () => void;
}

function Name({ release, line: { row, rows, inside }, offer, open, act }: NameProps) {
  const text = (name: string) => release.offers.column(name).text(row);
  const type = text("instance_type");
  const link = (
    <a
      href={addressOf("offers", { open: offer })}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        act();
      }}
    >
      {type}
    </a>
  );
  if (!rows) {
    return (
      <th scope="row" class="machine" title={type}>
        {link}
        <small>{inside ? text("region") : `${seller(release, row)} · ${text("region")}`}</small>
      </th>
    );
  }
  const types = new Set(rows.map((other) => release.offers.column("instance_type").codes[other]));
  return (
    <th scope="row" class="machine" title={`${text("device")}, ${seller(release, row)}`}>
      <button type="button" aria-expanded={open} onClick={act}>
        <b>{text("device")}</b>
      </button>
      <small>
        {seller(release, row)} · {integer(types.size)} {types.size === 1 ? "machine" : "machines"}
      </small>
    </th>
  );
}

interface CellProps {
  release: Release;
  info: ColumnInfo;
  row: number;
  basis: Basis;
  /** Whether the line is of a model, of which the cell has the cheapest machine. */
  model: boolean;
}

function Cell({ release, info, row, basis, model }: CellProps) {
  const { offers } = release;
  const column = figures(release, info.name, basis);
  const value = column.at(row);
  if (info.kind === "money" && info.unit === unitOf(basis)) return <Price release={release} info={info} row={row} basis={basis} amount={column.number(row)} />;
  if (info.name === "device") {
    const names = accelerators(release, row);
    if (!names) return <None why={value === null ? "The vendor does not describe this machine type." : "No GPU."} />;
    if (!model) return <>{names}</>;
    return (
      <>
        {offers.column("instance_type").text(row)} <small class="muted">{offers.column("region").text(row)}</small>
      </>
    );
  }
  if (value === null || value === "") return <None why={whyNone(release, info, row)} />;
  if (info.name.endsWith("_option")) return <>{words(info.name, String(value))}</>;
  if (info.name === "provider") return <>{seller(release, row)}</>;
  return <>{cell(info, value)}</>;
}

function Price({ release, info, row, basis, amount }: { release: Release; info: ColumnInfo; row: number; basis: Basis; amount: number | null }) {
  if (amount === null) {
    const own = info.name === WAYS[0].column ? priceColumn(release, [OWN], basis).number(row) : null;
    if (own === null) return <None why={whyNoPrice(release, info, row, basis)} />;
    const currency = release.offers.column("currency").text(row);
    return <span title={`Published in ${currency}; currencies are never converted here.`}>{priced(own, basis, currency)}</span>;
  }
  const flag = flagOf(release, row, info.name);
  return (
    <>
      {flag && (
        <span class="flag" role="img" aria-label={`Flagged: ${flag}`} title={`Flagged: ${flag}`}>
          ⚑
        </span>
      )}
      {priced(amount, basis)}
    </>
  );
}

/** A dash, which says why there is nothing. */
export function None({ why }: { why: string }): ComponentChildren {
  return (
    <span class="muted" title={why}>
      –<span class="hidden"> {why}</span>
    </span>
  );
}

function whyNoPrice(release: Release, info: ColumnInfo, row: number, { os, perGpu }: Basis): string {
  const { offers } = release;
  if (perGpu && !offers.column("accelerator_count").number(row)) return "No GPU to divide the price by.";
  const reason = words("reason", offers.column("on_demand_reason").text(row));
  if (info.name === WAYS[0].column && os === "linux" && reason) return `No price: ${reason}.`;
  const currency = offers.column("currency").text(row);
  if (currency && currency !== "USD") return `Published in ${currency} on demand only.`;
  return `No ${info.heading} price for ${SYSTEMS[os] ?? os} in this release.`;
}

function whyNone(release: Release, info: ColumnInfo, row: number): string {
  if (release.offers.column("flags").text(row).includes("machine_unknown")) return "The vendor does not describe this machine type.";
  const isOfGpu = /accelerator|gpu/.test(info.name) && release.offers.column("accelerator_kind").text(row) === "none";
  return isOfGpu ? "No GPU." : "Not stated by the vendor.";
}

/** "8 × H100 SXM5 80 GB", as an offer has them; without a sheet's name the vendor's. */
export function accelerators(release: Release, row: number): string {
  const name = release.offers.column("device").text(row);
  const count = release.offers.column("accelerator_count").number(row);
  if (!name || release.offers.column("accelerator_kind").text(row) === "none") return "";
  return count === null ? name : `${number(count)} × ${name}`;
}

type Heading = Pick<ColumnInfo, "name" | "heading" | "unit" | "kind" | "description">;

interface SortHeadingProps {
  info: Heading;
  direction: "ascending" | "descending" | null;
  sort: (sort: string) => void;
}

export function SortHeading({ info, direction, sort }: SortHeadingProps) {
  const next = direction === "ascending" ? `-${info.name}` : info.name;
  const classes = [info.name === "instance_type" && "machine", info.kind !== "text" && "figure", direction && "sorted"];
  return (
    <th aria-sort={direction ?? undefined} class={classes.filter(Boolean).join(" ") || undefined}>
      <button type="button" title={help(info)} onClick={() => sort(next)}>
        {info.heading}
        <span aria-hidden="true" class="arrow">
          {direction === "ascending" ? "▲" : direction === "descending" ? "▼" : ""}
        </span>
        {info.unit && <small>{info.unit.replace(/\(.*·h\)/, "h")}</small>}
      </button>
    </th>
  );
}

export function help(info: Heading): string {
  return [info.description, info.unit && `Unit: ${info.unit}.`].filter(Boolean).join(" ");
}
