/** The view of offers: GPU models by price, or every machine in every region. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ViewProps } from "./app";
import { Details } from "./details";
import { Choose, Switch } from "./controls";
import { saveOffers } from "./csv";
import { CHOICES, find, PRICE, RANGES, sorted, sortOwnCurrency, type Found } from "./filter";
import { choiceLabel, Filters } from "./filters";
import { RegionMap } from "./map/map";
import { integer, words } from "./format";
import { asksForMachines, type Meaning, type Reading } from "./grammar";
import { basisOf, headingOf, OWN, PERIODS, priceColumn, SYSTEMS, unitOf, WAYS, type Basis } from "./prices";
import { offerKey, type ColumnInfo, type Release } from "./release";
import { CHOSEN, figures, help, lineKey, Row, shownColumns, SortHeading, type Line } from "./table";
import { list, listText, range } from "./state";

const PAGE = 50; // lines of one page of the table
export const MOST_COMPARED = 6;

export function Offers({ release, parameters, change }: ViewProps) {
  const { offers } = release;
  const reading = release.reader.read(parameters.q ?? "");
  const gpus = (parameters.rows || (asksForMachines(reading) ? "machines" : "gpus")) === "gpus";
  const basis = basisOf(release, parameters, reading, gpus);
  const key = JSON.stringify([FILTERS.map((name) => parameters[name] ?? ""), gpus, basis]);
  const found = useMemo(() => find(release, { parameters, asks: reading.asks, basis, gpus }), [key]);
  const sort = parameters.sort || (basis.columns.length === 1 ? basis.columns[0]! : CHOSEN);
  const [sortColumn, descending] = [sort.replace(/^-/, ""), sort.startsWith("-")];
  const rows = useMemo(() => {
    const column = figures(release, sortColumn, basis);
    const own = priceColumn(release, [OWN], basis);
    return sortOwnCurrency(offers, sorted(found.rows, column, descending), column, own, descending);
  }, [found, sortColumn, descending]);
  const lines = useMemo(() => (gpus ? models(release, rows) : Array.from(rows, (row): Line => ({ row }))), [rows, gpus]);
  const shown = shownColumns(release, list(parameters.columns), basis);
  const pages = Math.max(1, Math.ceil(lines.length / PAGE));
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(parameters.page)) || 1));
  const opened = list(parameters.opened);
  const visible = lines.slice((page - 1) * PAGE, page * PAGE).flatMap((line) => [line, ...(line.rows && opened.includes(lineKey(release, line.row)) ? machines(release, line.rows) : [])]);
  const selected = list(parameters.selected);
  const toggle = (name: string, items: string[], item: string) =>
    change({ [name]: listText(items.includes(item) ? items.filter((other) => other !== item) : [...items, item]) });
  const set = (changes: Record<string, string>) => change({ ...changes, page: "" });
  return (
    <div class="offers">
      <div class="ask">
        <Search value={parameters.q ?? ""} set={(q) => set({ q })} />
        <Toggles release={release} basis={basis} gpus={gpus} set={set} />
      </div>
      <details class="side" open={matchMedia("(min-width: 60rem)").matches}>
        <summary>Filters</summary>
        <Filters release={release} parameters={parameters} basis={basis} change={change} found={found} />
      </details>
      <section class="list">
        <h1 class="hidden">Offers</h1>
        <div class="bar">
          <p role="status" class="found" tabIndex={-1}>
            <b>{integer(rows.length)}</b> {gpus ? `offers of ${integer(lines.length)} GPU models and clouds` : `of ${integer(offers.rows)} offers`}
          </p>
          <Chips release={release} parameters={parameters} reading={reading} found={found} set={set} />
          {found.otherCurrency > 0 && (
            <p class="muted">
              {integer(found.otherCurrency)} priced in another currency {found.otherCurrency === 1 ? "is" : "are"} left out
            </p>
          )}
          <span class="spring" />
          <button type="button" aria-expanded={parameters.map === "open"} onClick={() => change({ map: parameters.map ? "" : "open" })}>
            Map
          </button>
          <ColumnPicker release={release} shown={shown} change={change} />
          <button type="button" onClick={() => saveOffers(release, rows, shown)}>
            CSV
          </button>
        </div>
        {reading.unknown && <Unknown reading={reading} question={parameters.q ?? ""} set={set} />}
        {parameters.map === "open" && <RegionMap release={release} parameters={parameters} found={found} set={set} />}
        <div class="scroll" tabIndex={0} role="region" aria-label="Offers, scrollable">
          <table class={lines.length > 0 ? "cards" : undefined}>
            <caption class="hidden">
              {gpus ? "GPU models at each cloud" : "Machines"} and their prices: {SYSTEMS[basis.os] ?? basis.os}, shared tenancy, license included
            </caption>
            <thead>
              <tr>
                <th class="tick">
                  <span class="hidden">Compare</span>
                </th>
                {shown.map((info) => (
                  <SortHeading
                    key={info.name}
                    info={gpus && info.name === "device" ? { ...info, heading: "Cheapest machine" } : info}
                    direction={info.name === sortColumn ? (descending ? "descending" : "ascending") : null}
                    sort={(next) => set({ sort: next })}
                  />
                ))}
              </tr>
            </thead>
            <tbody>
              {visible.map((line, position) => {
                const offer = offerKey(offers, line.row);
                return (
                  <Row
                    key={position} // by position, so that the cells of the page before are used again
                    release={release}
                    line={line}
                    shown={shown}
                    sorted={sortColumn}
                    basis={basis}
                    selected={selected.includes(offer)}
                    full={selected.length >= MOST_COMPARED ? `At most ${MOST_COMPARED} are compared` : ""}
                    open={opened.includes(lineKey(release, line.row))}
                    toggleSelected={(item) => toggle("selected", selected, item)}
                    toggleOpen={(item) => toggle("opened", opened, item)}
                    change={change}
                  />
                );
              })}
            </tbody>
          </table>
          {lines.length === 0 && (
            <p class="empty">
              No {gpus ? "GPU offer" : "offer"} passes these filters.{" "}
              {gpus && (
                <button type="button" onClick={() => set({ rows: "machines" })}>
                  Search all machines
                </button>
              )}{" "}
              <button
                type="button"
                onClick={() => {
                  set(cleared(parameters));
                  focusCount();
                }}
              >
                Clear the filters
              </button>
            </p>
          )}
        </div>
        <Pages page={page} pages={pages} lines={lines.length} basis={basis} change={change} />
      </section>
      {selected.length > 0 && <Tray selected={selected} change={change} />}
      <Details release={release} parameters={parameters} basis={basis} change={change} />
    </div>
  );
}

/** One line for each accelerator and cloud, in the order of their first offers. */
function models(release: Release, rows: Uint32Array): Line[] {
  const { offers } = release;
  const [device, provider] = [offers.column("device"), offers.column("provider")];
  const width = provider.values.length + 1;
  const lines = new Map<number, Required<Pick<Line, "row" | "rows">>>();
  for (const row of rows) {
    const key = (device.codes[row]! * width + provider.codes[row]!) * 2 + Number(release.isCommunity(row));
    const line = lines.get(key);
    if (line) line.rows.push(row);
    else lines.set(key, { row, rows: [row] });
  }
  return [...lines.values()];
}

/** The cheapest offer of each machine type. */
function machines({ offers }: Release, rows: number[]): Line[] {
  const type = offers.column("instance_type");
  const seen = new Map<number, number>();
  for (const row of rows) if (!seen.has(type.codes[row]!)) seen.set(type.codes[row]!, row);
  return [...seen.values()].map((row) => ({ row, inside: true }));
}

/** Moves the focus to the number of offers, when the button that had it is gone. */
function focusCount(): void {
  document.querySelector<HTMLElement>(".found")?.focus();
}

const FILTERS = ["q", "option", "os", "community", PRICE, ...CHOICES.map(({ column }) => column), ...RANGES.map(({ column }) => column)];

function cleared(parameters: Record<string, string>): Record<string, string> {
  return Object.fromEntries(FILTERS.filter((name) => parameters[name]).map((name) => [name, ""]));
}

function Search({ value, set }: { value: string; set: (value: string) => void }) {
  return (
    <label class="search">
      <span class="hidden">Search</span>
      <input
        type="search"
        name="q"
        placeholder="8xH100 spot europe, L4, p5 1 year, windows D4s v5 …"
        value={value}
        onInput={(event) => set(event.currentTarget.value)}
      />
    </label>
  );
}

interface TogglesProps {
  release: Release;
  basis: Basis;
  gpus: boolean;
  set: (changes: Record<string, string>) => void;
}

function Toggles({ release, basis, gpus, set }: TogglesProps) {
  const { offers } = release;
  const systems = Object.keys(SYSTEMS).filter((os) => os === "linux" || offers.has(`${os}:${OWN}`));
  const names: string[] = WAYS.map(({ column }) => column);
  const others = release.options.map(({ name }) => name).filter((name) => !names.includes(name));
  const options = [...names, ...others].map((name) => [name, headingOf(release, name)] as const);
  if (basis.columns.length !== 1) options.unshift(["", basis.heading || "as asked"]);
  return (
    <div class="toggles">
      <Switch legend="Rows" name="rows" choices={{ gpus: "GPUs", machines: "All machines" }} value={gpus ? "gpus" : "machines"} set={(rows) => set({ rows, per: "" })} />
      <Choose unlabelled label="Purchase option" name="option" value={basis.columns.length === 1 ? basis.columns[0]! : ""} options={options} set={(option) => set({ option, sort: "" })} />
      <Choose unlabelled label="Operating system" name="os" value={basis.os} options={systems.map((os) => [os, SYSTEMS[os]!])} set={(os) => set({ os })} />
      <Switch legend="Price per" name="period" choices={Object.fromEntries(Object.keys(PERIODS).map((name) => [name, name]))} value={basis.period} set={(period) => set({ period: period === "hour" ? "" : period })} />
      <Switch legend="Price of" name="per" choices={{ gpu: "per GPU", machine: "per machine" }} value={basis.perGpu ? "gpu" : "machine"} set={(per) => set({ per })} />
    </div>
  );
}

/** A word of the search that means nothing, and what may have been meant. */
function Unknown({ reading, question, set }: { reading: Reading; question: string; set: TogglesProps["set"] }) {
  const { word, near, absent } = reading.unknown!;
  if (absent) {
    return (
      <p class="note" role="alert">
        “{word}” is left out: prices here are of shared tenancy, with licenses included and without software. <code>hwprices find</code> has the others.
      </p>
    );
  }
  return (
    <p class="note" role="alert">
      “{word}” is not understood and is left out.{" "}
      {near.length > 0
        ? "Did you mean "
        : "Name a GPU, machine type, place, purchase option or amount: 8xH100 europe spot."}
      {near.map((name) => (
        <button key={name} type="button" class="plain" onClick={() => set({ q: question.replace(word, name) })}>
          {name}
        </button>
      ))}
      {near.length > 0 && "?"}
    </p>
  );
}

interface ChipsProps {
  release: Release;
  parameters: Record<string, string>;
  reading: Reading;
  found: Found;
  set: (changes: Record<string, string>) => void;
}

function Chips({ release, parameters, reading, found, set }: ChipsProps) {
  const chips = FILTERS.flatMap((name) => {
    const text = parameters[name];
    return text && name !== "q" && name !== "community" ? [{ name, label: chipLabel(release, name, text) }] : [];
  });
  const remove = (changes: Record<string, string>) => {
    set(changes);
    focusCount();
  };
  return (
    <ul class="chips" aria-label="Filters in use">
      {reading.meanings.map((meaning, position) => (
        <Chip key={`q${position}`} label={meaningLabel(release, meaning)} title={`Read from “${meaning.words}”`} remove={() => remove({ q: without(parameters.q ?? "", meaning.words) })} />
      ))}
      {chips.map(({ name, label }) => (
        <Chip key={name} label={label} remove={() => remove({ [name]: "" })} />
      ))}
      {(found.community > 0 || parameters.community) && (
        <li>
          <button type="button" class="quiet" aria-pressed={Boolean(parameters.community)} onClick={() => set({ community: parameters.community ? "" : "shown" })}>
            Community hosts: {parameters.community ? "shown" : `${integer(found.community)} hidden`}
          </button>
        </li>
      )}
      {chips.length + reading.meanings.length > 1 && (
        <li>
          <button type="button" class="plain" onClick={() => remove(cleared(parameters))}>
            Clear all
          </button>
        </li>
      )}
    </ul>
  );
}

function Chip({ label, title, remove }: { label: string; title?: string; remove: () => void }): ComponentChildren {
  return (
    <li>
      <button type="button" title={title} onClick={remove} aria-label={`Remove filter ${label}`}>
        {label} <span aria-hidden="true">×</span>
      </button>
    </li>
  );
}

function without(question: string, words: string): string {
  const place = question.toLowerCase().indexOf(words.toLowerCase());
  if (place < 0) return "";
  return `${question.slice(0, place)} ${question.slice(place + words.length)}`.replace(/\s+/g, " ").trim();
}

const MOST_NAMED = 2; // of the GPUs that a word means

/** How the words of a search were read. */
function meaningLabel(release: Release, { words: text, asks }: Meaning): string {
  const count = asks.count ? `${asks.count} × ` : "";
  if (asks.accelerators) {
    const names = [...asks.accelerators].map((id) => String(release.accelerators.get(id)?.name ?? id.split("|").pop()));
    return names.length > MOST_NAMED ? `${text}: ${names.length} GPU models` : `${count}${names.join(", ")}`;
  }
  if (asks.kinds) return `${count}${[...asks.kinds].map((kind) => (kind === "none" ? "no GPU" : kind.toUpperCase())).join(", ")}`;
  if (asks.count) return `${asks.count} GPUs`;
  if (asks.gpuMemory) return `GPU memory ≥ ${asks.gpuMemory} GiB`;
  if (asks.memory) return `RAM ≥ ${asks.memory} GiB`;
  if (asks.vcpus) return `vCPUs ≥ ${asks.vcpus}`;
  if (asks.maxPrice) return `≤ $${asks.maxPrice} per machine and hour`;
  if (asks.maxPricePerGpu) return `≤ $${asks.maxPricePerGpu} per GPU and hour`;
  if (asks.machines) return asks.machines.size === 1 ? [...asks.machines][0]!.split("|")[1]! : `${text}: ${asks.machines.size} machine types`;
  if (asks.providers) return [...asks.providers].map((id) => release.providerTitle(id)).join(", ");
  if (asks.regions) return asks.regions.size === 1 ? [...asks.regions][0]!.split("|")[1]! : `${text}: ${asks.regions.size} regions`;
  if (asks.terms) return [...asks.terms].map((months) => (months % 12 === 0 ? `${months / 12}-year` : `${months} months`)).join(", ");
  if (asks.options ?? asks.payments) return words("option", [...(asks.options ?? asks.payments)!].join(", "));
  if (asks.os) return SYSTEMS[asks.os] ?? asks.os;
  return asks.arch ?? `name has “${text}”`;
}

function chipLabel(release: Release, name: string, text: string): string {
  if (name === "option") return headingOf(release, text);
  if (name === "os") return SYSTEMS[text] ?? text;
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
          Reset
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
  lines: number;
  basis: Basis;
  change: ViewProps["change"];
}

function Pages({ page, pages, lines, basis, change }: PagesProps) {
  const go = (target: number) => {
    change({ page: target === 1 ? "" : String(target) });
    document.querySelector(".list .scroll")?.scrollTo({ top: 0 });
  };
  const first = lines === 0 ? 0 : (page - 1) * PAGE + 1;
  return (
    <nav class="pages" aria-label="Pages of the table">
      <button type="button" aria-disabled={page === 1} onClick={() => page > 1 && go(page - 1)}>
        Previous
      </button>
      <span>
        {integer(first)}–{integer(Math.min(lines, page * PAGE))} of {integer(lines)}
      </span>
      <button type="button" aria-disabled={page === pages} onClick={() => page < pages && go(page + 1)}>
        Next
      </button>
      <p class="basis">
        {unitOf(basis)}, {SYSTEMS[basis.os] ?? basis.os}, shared tenancy, license included. Upfront payments are spread over the term.
        Other currencies come last, as published.
      </p>
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
        Clear
      </button>
      <a class="button" href={`#compare?${new URLSearchParams({ offers: listText(selected) })}`}>
        Compare
      </a>
    </aside>
  );
}
