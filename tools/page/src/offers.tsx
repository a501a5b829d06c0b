/** The table of offers: a machine in a region in each row, ways to buy it side by side. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ViewProps } from "./app";
import { Details } from "./details";
import { saveOffers } from "./csv";
import { CHOICES, defaultSort, find, PRICE, RANGES, sorted, sortOwnCurrency } from "./filter";
import { choiceLabel, Filters } from "./filters";
import { RegionMap } from "./map/map";
import { cell, integer, usd, words } from "./format";
import { offerKey, seller, type ColumnInfo, type Release } from "./release";
import { list, listText, range } from "./state";

const PAGE = 50; // rows of one page of the table
export const MOST_COMPARED = 6;

const DEFAULT_COLUMNS = [
  "instance_type",
  "provider",
  "region",
  "accelerator_name",
  "accelerator_memory_gib",
  "on_demand_usd_per_hour",
  "usd_per_accelerator_hour",
  "spot_usd_per_hour",
  "best_1y_usd_per_hour",
  "best_3y_usd_per_hour",
  "usd_per_pflop_hour_bf16",
  "vcpus",
  "memory_gib",
];

/** On a phone the price comes first: the other columns are a swipe away. */
const NARROW_COLUMNS = ["instance_type", "on_demand_usd_per_hour", ...DEFAULT_COLUMNS];

export function Offers({ release, parameters, change }: ViewProps) {
  const { offers } = release;
  const found = useMemo(() => find(offers, parameters), [filterKey(parameters)]);
  const { column: sortColumn, descending } = sorting(parameters);
  const rows = useMemo(
    () => {
      const inOrder = sorted(found.rows, offers.column(sortColumn), descending);
      return sortOwnCurrency(offers, inOrder, offers.column(sortColumn), descending);
    },
    [found, sortColumn, descending],
  );
  const shown = shownColumns(release, parameters);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(parameters.page)) || 1));
  const visible = Array.from(rows.subarray((page - 1) * PAGE, page * PAGE));
  const selected = list(parameters.selected);
  const toggle = (key: string) => {
    const next = selected.includes(key) ? selected.filter((item) => item !== key) : [...selected, key];
    change({ selected: listText(next) });
  };
  const isFull = selected.length >= MOST_COMPARED;
  return (
    <div class="offers">
      <details class="side" open={matchMedia("(min-width: 60rem)").matches}>
        <summary>Filters</summary>
        <Filters release={release} parameters={parameters} change={change} found={found} />
      </details>
      <section class="list">
        <h1 class="hidden">Offers</h1>
        <div class="bar">
          <p role="status" class="found" tabIndex={-1}>
            <b>{integer(rows.length)}</b> of {integer(offers.rows)} offers
          </p>
          {found.otherCurrency > 0 && (
            <p class="muted">
              {integer(found.otherCurrency)} priced in another currency {found.otherCurrency === 1 ? "is" : "are"} left out
            </p>
          )}
          <SortedBy info={release.columns.get(sortColumn)} descending={descending} />
          <Chips release={release} parameters={parameters} change={change} />
          <span class="spring" />
          <button type="button" aria-expanded={parameters.map === "open"} onClick={() => change({ map: parameters.map ? "" : "open" })}>
            Map
          </button>
          <ColumnPicker release={release} shown={shown} change={change} />
          <button type="button" onClick={() => saveOffers(release, rows, shown)}>
            CSV
          </button>
        </div>
        {parameters.map === "open" && (
          <RegionMap release={release} parameters={parameters} found={found} set={(changes) => change({ ...changes, page: "" })} />
        )}
        <div class="scroll" tabIndex={0} role="region" aria-label="Offers, scrollable">
          <table>
            <caption class="hidden">
              Machines and their prices in USD per hour: Linux, shared tenancy, license included
            </caption>
            <thead>
              <tr>
                <th class="tick">
                  <span class="hidden">Compare</span>
                </th>
                {shown.map((info) => (
                  <SortHeading
                    key={info.name}
                    info={info}
                    direction={info.name === sortColumn ? (descending ? "descending" : "ascending") : null}
                    sort={(sort) => change({ sort, page: "" })}
                  />
                ))}
              </tr>
            </thead>
            <tbody>
              {visible.map((row, position) => {
                const key = offerKey(offers, row);
                return (
                  // by position, so that the cells of the page before are used again
                  <tr key={position} class={selected.includes(key) ? "selected" : undefined}>
                    <td class="tick">
                      <input
                        type="checkbox"
                        aria-label={`Compare ${offers.column("instance_type").text(row)} in ${offers.column("region").text(row)}`}
                        checked={selected.includes(key)}
                        disabled={isFull && !selected.includes(key)}
                        title={isFull ? `At most ${MOST_COMPARED} are compared` : undefined}
                        onChange={() => toggle(key)}
                      />
                    </td>
                    {shown.map((info) => (
                      <Cell key={info.name} release={release} info={info} row={row} offer={key} change={change} />
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
          {rows.length === 0 && (
            <p class="empty">
              No offer passes these filters.{" "}
              {parameters.q && "The search looks for each word in machine, accelerator, provider, region and continent. "}
              <button
                type="button"
                onClick={() => {
                  change(cleared(parameters));
                  focusCount();
                }}
              >
                Clear the filters
              </button>
            </p>
          )}
        </div>
        <Pages page={page} pages={pages} rows={rows.length} change={change} />
      </section>
      {selected.length > 0 && <Tray selected={selected} change={change} />}
      <Details release={release} parameters={parameters} change={change} />
    </div>
  );
}

/** Moves the focus to the number of offers, when the button that had it is gone. */
function focusCount(): void {
  document.querySelector<HTMLElement>(".found")?.focus();
}

function sorting(parameters: Record<string, string>): { column: string; descending: boolean } {
  const sort = parameters.sort || defaultSort(parameters);
  return { column: sort.replace(/^-/, ""), descending: sort.startsWith("-") };
}

const FILTERS = ["q", "option", PRICE, ...CHOICES.map(({ column }) => column), ...RANGES.map(({ column }) => column)];

function filterKey(parameters: Record<string, string>): string {
  return JSON.stringify(FILTERS.map((name) => parameters[name] ?? ""));
}

function cleared(parameters: Record<string, string>): Record<string, string> {
  const used = FILTERS.filter((name) => parameters[name]);
  return Object.fromEntries([...used, "page"].map((name) => [name, ""]));
}

function shownColumns(release: Release, parameters: Record<string, string>): ColumnInfo[] {
  const chosen = list(parameters.columns);
  const usual = matchMedia("(min-width: 40rem)").matches ? DEFAULT_COLUMNS : [...new Set(NARROW_COLUMNS)];
  const names = chosen.length > 0 ? chosen : usual;
  const option = parameters.option;
  const all = option && !names.includes(option) ? [...names, option] : names;
  return all.map((name) => release.columns.get(name)).filter((info) => info !== undefined);
}

interface SortHeadingProps {
  info: ColumnInfo;
  direction: "ascending" | "descending" | null;
  sort: (sort: string) => void;
}

function SortHeading({ info, direction, sort }: SortHeadingProps) {
  const next = direction === "ascending" ? `-${info.name}` : info.name;
  return (
    <th aria-sort={direction ?? undefined} class={info.kind === "text" ? undefined : "figure"}>
      <button type="button" title={help(info)} onClick={() => sort(next)}>
        {info.heading}
        <span aria-hidden="true" class="arrow">
          {direction === "ascending" ? "▲" : direction === "descending" ? "▼" : ""}
        </span>
        {info.unit && <small>{unit(info.unit)}</small>}
      </button>
    </th>
  );
}

/** Says by what the offers are sorted: the column's heading may be out of sight. */
function SortedBy({ info, descending }: { info: ColumnInfo | undefined; descending: boolean }) {
  if (!info) return null;
  const first = info.kind === "text" ? (descending ? "Z to A" : "A to Z") : descending ? "highest first" : "lowest first";
  return (
    <span class="muted" title={help(info)}>
      by {info.heading}
      {info.unit && ` in ${unit(info.unit)}`}, {first}
    </span>
  );
}

export function help(info: ColumnInfo): string {
  return [info.description, info.unit && `Unit: ${info.unit}.`].filter(Boolean).join(" ");
}

function unit(text: string): string {
  return text.replace(/\(.*·h\)/, "h");
}

interface CellProps {
  release: Release;
  info: ColumnInfo;
  row: number;
  offer: string;
  change: ViewProps["change"];
}

function Cell({ release, info, row, offer, change }: CellProps) {
  const { offers } = release;
  const value = offers.column(info.name).at(row);
  if (info.name === "instance_type") {
    return (
      <th scope="row" class="machine" title={String(value)}>
        <button type="button" onClick={() => change({ open: offer }, true)}>
          {String(value)}
        </button>
      </th>
    );
  }
  if (info.name.endsWith("_option")) return <td>{words(info.name, String(value ?? ""))}</td>;
  if (info.name === "provider") return <td>{seller(release, row)}</td>;
  if (info.name === "accelerator_name") return <td title={offers.column("device").text(row)}>{accelerators(release, row)}</td>;
  if (info.name === "on_demand_usd_per_hour" && value === null) return <NoUsd release={release} row={row} />;
  return <td class={info.kind === "text" ? undefined : "figure"}>{cell(info, value)}</td>;
}

/** "8 × H100 SXM5 80 GB", as an offer has them; without a sheet's name the vendor's. */
export function accelerators(release: Release, row: number): string {
  const name = release.offers.column("device").text(row);
  const count = release.offers.column("accelerator_count").number(row);
  if (!name || release.offers.column("accelerator_kind").text(row) === "none") return "";
  return count && count !== 1 ? `${Math.round(count * 1000) / 1000} × ${name}` : name;
}

/** An on-demand price in another currency, or the reason why there is none. */
function NoUsd({ release, row }: { release: Release; row: number }) {
  const { offers } = release;
  const own = offers.column("on_demand_hourly").number(row);
  const reason = offers.column("on_demand_reason").text(row).replaceAll("_", " ");
  if (own === null) return <td class="figure muted">{reason && <abbr title={reason}>none</abbr>}</td>;
  const currency = offers.column("currency").text(row);
  return (
    <td class="figure muted" title="Priced in another currency; currencies are never converted here.">
      {usd(own).replace("$", `${currency} `)}
    </td>
  );
}

function Chips({ release, parameters, change }: ViewProps) {
  const chips = FILTERS.flatMap((name) => {
    const text = parameters[name];
    return text ? [{ name, label: chipLabel(release, name, text) }] : [];
  });
  if (chips.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters in use">
      {chips.map(({ name, label }) => (
        <li key={name}>
          <button
            type="button"
            onClick={() => {
              change({ [name]: "", page: "" });
              focusCount();
            }}
            aria-label={`Remove filter ${label}`}
          >
            {label} <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
      {chips.length > 1 && (
        <li>
          <button
            type="button"
            class="plain"
            onClick={() => {
              change(cleared(parameters));
              focusCount();
            }}
          >
            Clear all
          </button>
        </li>
      )}
    </ul>
  );
}

function chipLabel(release: Release, name: string, text: string): string {
  if (name === "q") return `“${text}”`;
  if (name === "option") return release.heading(text);
  const heading =
    name === PRICE ? "Price" : ([...CHOICES, ...RANGES].find(({ column }) => column === name)?.heading ?? name);
  if (name === PRICE || RANGES.some(({ column }) => column === name)) {
    const { low, high } = range(text);
    if (low === null && high === null) return `${heading} ${text}`;
    if (low !== null && low === high) return `${heading} ${low}`;
    if (high === null) return `${heading} ≥ ${low}`;
    return low === null ? `${heading} ≤ ${high}` : `${heading} ${low}–${high}`;
  }
  const chosen = list(text).map((value) => choiceLabel(release, name, value));
  return chosen.length > 2 ? `${heading}: ${chosen.length}` : `${heading}: ${chosen.join(", ")}`;
}

interface ColumnPickerProps {
  release: Release;
  shown: ColumnInfo[];
  change: ViewProps["change"];
}

function ColumnPicker({ release, shown, change }: ColumnPickerProps) {
  const names = shown.map((info) => info.name);
  const groups = Map.groupBy(release.columns.values(), (info) => info.group);
  const toggle = (name: string) => {
    const next = names.includes(name) ? names.filter((item) => item !== name) : [...names, name];
    change({ columns: listText(next) });
  };
  const menu = useRef<HTMLDetailsElement>(null);
  const summary = useRef<HTMLElement>(null);
  useEffect(() => {
    const outside = ({ target }: Event) => {
      const isOutside = target instanceof Node && !menu.current?.contains(target);
      // a click between the boxes focuses what the menu is in
      if (isOutside && !target.contains(menu.current)) menu.current?.removeAttribute("open");
    };
    const escape = ({ key }: KeyboardEvent) => {
      if (key !== "Escape" || !menu.current?.open) return;
      menu.current.removeAttribute("open");
      summary.current?.focus();
    };
    addEventListener("keydown", escape);
    addEventListener("pointerdown", outside);
    addEventListener("focusin", outside);
    return () => {
      removeEventListener("keydown", escape);
      removeEventListener("pointerdown", outside);
      removeEventListener("focusin", outside);
    };
  }, []);
  return (
    <details ref={menu} class="menu">
      <summary ref={summary}>Columns</summary>
      <div class="sheet">
        <button type="button" class="plain" onClick={() => change({ columns: "" })}>
          Back to the usual ones
        </button>
        {[...groups].map(([group, columns]) => (
          <fieldset key={group}>
            <legend>{group}</legend>
            {columns.map((info) => (
              <label key={info.name} title={help(info)}>
                <input
                  type="checkbox"
                  name={`column_${info.name}`}
                  checked={names.includes(info.name)}
                  disabled={info.name === "instance_type"}
                  onChange={() => toggle(info.name)}
                />
                <span>{info.heading}</span>
              </label>
            ))}
          </fieldset>
        ))}
      </div>
    </details>
  );
}

interface PagesProps {
  page: number;
  pages: number;
  rows: number;
  change: ViewProps["change"];
}

function Pages({ page, pages, rows, change }: PagesProps) {
  const go = (target: number) => {
    change({ page: target === 1 ? "" : String(target) });
    document.querySelector(".scroll")?.scrollTo({ top: 0 });
  };
  const first = rows === 0 ? 0 : (page - 1) * PAGE + 1;
  return (
    <nav class="pages" aria-label="Pages of the table">
      <button type="button" aria-disabled={page === 1} onClick={() => page > 1 && go(page - 1)}>
        Previous
      </button>
      <span>
        {integer(first)}–{integer(Math.min(rows, page * PAGE))} of {integer(rows)}
      </span>
      <button type="button" aria-disabled={page === pages} onClick={() => page < pages && go(page + 1)}>
        Next
      </button>
      <p class="basis">USD per hour, Linux, shared tenancy, license included. Commitments with what is paid upfront spread over the term. Prices in other currencies come last.</p>
    </nav>
  );
}

function Tray({ selected, change }: { selected: string[]; change: ViewProps["change"] }) {
  return (
    <aside class="tray" aria-label="Selected offers">
      <span>
        {selected.length} of {MOST_COMPARED} selected
      </span>
      <button type="button" class="plain" onClick={() => change({ selected: "" })}>
        None
      </button>
      <a class="button" href={`#compare?${new URLSearchParams({ offers: listText(selected) })}`}>
        Compare
      </a>
    </aside>
  );
}
