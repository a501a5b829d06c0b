/** The filters beside the table of offers. */

import { useState } from "preact/hooks";
import { CHOICES, NONE, NO_VALUE, PRICE, RANGES, type Found } from "./filter";
import { integer } from "./format";
import type { Basis } from "./prices";
import type { Release } from "./release";
import { list, listText, range, rangeText } from "./state";
import type { ViewProps } from "./app";

const FIRST_SHOWN = 8; // choices of a list, until somebody asks for all
const MOST_SHOWN = 60; // choices in an open list; a search finds the others

export function Filters({ release, parameters, basis, change, found }: ViewProps & { basis: Basis; found: Found }) {
  const set = (changes: Record<string, string>) => change({ ...changes, page: "" });
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <RangeField
        heading={`${basis.heading}, USD/h ${basis.perGpu ? "per GPU" : "per machine"}`}
        name={PRICE}
        text={parameters[PRICE]}
        set={set}
      />
      <ChoiceField index={0} release={release} parameters={parameters} found={found} set={set} />
      {RANGES.map(({ column, heading, unit }) => (
        <RangeField
          key={column}
          heading={unit ? `${heading}, ${unit}` : heading}
          name={column}
          text={parameters[column]}
          set={set}
        />
      ))}
      {CHOICES.slice(1).map((_, position) => (
        <ChoiceField
          key={position}
          index={position + 1}
          release={release}
          parameters={parameters}
          found={found}
          set={set}
        />
      ))}
    </form>
  );
}

interface RangeFieldProps {
  heading: string;
  name: string;
  text: string | undefined;
  set: (changes: Record<string, string>) => void;
}

function RangeField({ heading, name, text, set }: RangeFieldProps) {
  const limits = range(text);
  return (
    <fieldset class="field range">
      <legend>{heading}</legend>
      <Limit
        name={`${name}_from`}
        placeholder="from"
        label={`${heading}, from`}
        value={limits.low}
        set={(low) => set({ [name]: rangeText({ ...limits, low }) })}
      />
      <span aria-hidden="true">–</span>
      <Limit
        name={`${name}_to`}
        placeholder="to"
        label={`${heading}, to`}
        value={limits.high}
        set={(high) => set({ [name]: rangeText({ ...limits, high }) })}
      />
    </fieldset>
  );
}

interface LimitProps {
  name: string;
  placeholder: string;
  label: string;
  value: number | null;
  set: (value: number | null) => void;
}

/** One end of a range. What is typed stays as it is while it means the value: "10." on the way to 10.5. */
function Limit({ name, placeholder, label, value, set }: LimitProps) {
  const [typed, setTyped] = useState("");
  const isSame = value !== null && typed !== "" && Number(typed) === value;
  return (
    <input
      type="number"
      min="0"
      step="any"
      name={name}
      placeholder={placeholder}
      aria-label={label}
      value={isSame ? typed : String(value ?? "")}
      onInput={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        set(text === "" ? null : Number(text));
      }}
    />
  );
}

interface ChoiceFieldProps {
  index: number;
  release: Release;
  parameters: Record<string, string>;
  found: Found;
  set: (changes: Record<string, string>) => void;
}

interface Choice {
  values: string[];
  label: string;
  count: number;
  /** The forms of a family: H100 is SXM, PCIe and NVL. */
  forms: Choice[];
}

function ChoiceField({ index, release, parameters, found, set }: ChoiceFieldProps) {
  const { column, heading } = CHOICES[index]!;
  const [search, setSearch] = useState("");
  const [open, setOpen] = useState(index < 2 || Boolean(parameters[column]));
  const [whole, setWhole] = useState(false);
  const chosen = list(parameters[column]);
  const all = choices(release, column, found, chosen);
  if (all.length < 2 && chosen.length === 0) return null;
  const matching = all.filter(({ label }) => label.toLowerCase().includes(search.toLowerCase()));
  const shown = matching.slice(0, whole || search ? MOST_SHOWN : FIRST_SHOWN);
  const toggle = (values: string[]) => {
    const others = chosen.filter((item) => !values.includes(item));
    set({ [column]: listText(values.every((value) => chosen.includes(value)) ? others : [...others, ...values]) });
  };
  return (
    <details class="field choice" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span>{heading}</span>
        {chosen.length > 0 && <b>{chosen.length}</b>}
      </summary>
      {open && all.length > FIRST_SHOWN && (
        <input
          type="search"
          aria-label={`Search in ${heading}`}
          placeholder={`Search ${integer(all.length)}`}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      <div role="group" aria-label={heading}>
        {(open ? shown : []).map((choice) => {
          const isPart = choice.values.some((value) => chosen.includes(value));
          return (
            <div key={choice.label}>
              <Box name={column} choice={choice} chosen={chosen} toggle={toggle} />
              {choice.forms.length > 1 && isPart && (
                <div class="forms">
                  {choice.forms.map((form) => (
                    <Box key={form.label} name={column} choice={form} chosen={chosen} toggle={toggle} />
                  ))}
                </div>
              )}
            </div>
          );
        })}
      </div>
      {matching.length > shown.length && !whole && !search && (
        <button type="button" class="plain" onClick={() => setWhole(true)}>
          Show all {integer(Math.min(MOST_SHOWN, matching.length))}
        </button>
      )}
    </details>
  );
}

interface BoxProps {
  name: string;
  choice: Choice;
  chosen: string[];
  toggle: (values: string[]) => void;
}

function Box({ name, choice: { values, label, count, forms }, chosen, toggle }: BoxProps) {
  const checked = values.filter((value) => chosen.includes(value)).length;
  return (
    <label>
      <input
        type="checkbox"
        name={name}
        value={values.join(",")}
        checked={checked === values.length}
        indeterminate={checked > 0 && checked < values.length}
        onChange={() => toggle(values)}
      />
      <span title={label}>
        {label}
        {forms.length > 1 && <small> {forms.length} forms</small>}
      </span>
      <small>{integer(count)}</small>
    </label>
  );
}

/** The choices that have offers, the most offers first; those of one family together. */
function choices(release: Release, name: string, found: Found, chosen: string[]): Choice[] {
  const column = release.offers.column(name);
  const counts = found.counts.get(name)!;
  const single = (value: string, count: number): Choice => ({ values: [value], label: choiceLabel(release, name, value), count, forms: [] });
  const known = column.values.map((value, position) => single(String(value), counts[position + 1]!));
  if (NO_VALUE[name] !== undefined) known.push(single(NONE, counts[0]!));
  const used = known.filter(({ values, count }) => count > 0 || chosen.includes(values[0]!));
  const grouped = name === "device" ? [...Map.groupBy(used, ({ label }) => familyOf(label))].map(([label, forms]) => familyChoice(label, forms)) : used;
  return grouped.sort((one, other) => rank(one, chosen) - rank(other, chosen) || other.count - one.count);
}

function familyChoice(label: string, forms: Choice[]): Choice {
  if (forms.length === 1) return forms[0]!;
  return { values: forms.flatMap(({ values }) => values), label, count: forms.reduce((sum, { count }) => sum + count, 0), forms };
}

/** A name as far as its first word with a digit: "H100 SXM5 80 GB" is of the family H100. */
function familyOf(name: string): string {
  return /^.*?\S*\d\S*/.exec(name)?.[0] ?? name;
}

/** The chosen first, and what has no name last. */
function rank({ values, label }: Choice, chosen: string[]): number {
  if (values.some((value) => chosen.includes(value))) return 0;
  return values[0] === NONE || label.startsWith("no ") ? 2 : 1;
}

/** What a choice is called, of a filter named after its column. */
export function choiceLabel(release: Release, name: string, value: string): string {
  if (value === NONE) return NO_VALUE[name] ?? "not known";
  if (name === "provider") return release.providerTitle(value);
  if (name !== "continent") return value;
  return value.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" ");
}
