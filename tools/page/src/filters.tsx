/** The filters beside the table of offers. */

import { useState } from "preact/hooks";
import { CHOICES, DEFAULT_OPTION, NONE, NO_VALUE, PRICE, RANGES, type Found } from "./filter";
import { integer } from "./format";
import type { Release } from "./release";
import { list, listText, range, rangeText } from "./state";
import type { ViewProps } from "./app";

const MOST_SHOWN = 60; // choices in an open list; a search finds the others

export function Filters({ release, parameters, change, found }: ViewProps & { found: Found }) {
  const chosenOption = parameters.option ?? "";
  const set = (changes: Record<string, string>) => change({ ...changes, page: "" });
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        <span>Search</span>
        <input
          type="search"
          name="q"
          placeholder="8xH100 europe, p5.48xlarge …"
          value={parameters.q ?? ""}
          onInput={(event) => set({ q: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>Bought as</span>
        <select
          name="option"
          value={chosenOption}
          onChange={(event) => set({ option: event.currentTarget.value })}
        >
          <option value="">Any way</option>
          {release.options.map((option) => (
            <option key={option.name} value={option.name}>
              {option.heading}
            </option>
          ))}
        </select>
      </label>
      <RangeField
        heading={`${release.heading(chosenOption || DEFAULT_OPTION)}, USD/h`}
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
  value: string;
  label: string;
  count: number;
}

function ChoiceField({ index, release, parameters, found, set }: ChoiceFieldProps) {
  const { column, heading } = CHOICES[index]!;
  const [search, setSearch] = useState("");
  const [open, setOpen] = useState(index < 2 || Boolean(parameters[column]));
  const chosen = list(parameters[column]);
  const all = choices(release, column, found);
  if (all.length < 2 && chosen.length === 0) return null;
  const matching = all.filter(({ label }) => label.toLowerCase().includes(search.toLowerCase()));
  const shown = order(matching, chosen).slice(0, MOST_SHOWN);
  const toggle = (value: string) => {
    const next = chosen.includes(value) ? chosen.filter((item) => item !== value) : [...chosen, value];
    set({ [column]: listText(next) });
  };
  return (
    <details class="field choice" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span>{heading}</span>
        {chosen.length > 0 && <b>{chosen.length}</b>}
      </summary>
      {open && all.length > 8 && (
        <input
          type="search"
          aria-label={`Search in ${heading}`}
          placeholder={`Search ${integer(all.length)}`}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      <div role="group" aria-label={heading}>
        {(open ? shown : []).map(({ value, label, count }) => (
          <label key={value}>
            <input
              type="checkbox"
              name={column}
              value={value}
              checked={chosen.includes(value)}
              onChange={() => toggle(value)}
            />
            <span>{label}</span>
            <small>{integer(count)}</small>
          </label>
        ))}
      </div>
      {matching.length > shown.length && <p class="hint">and {integer(matching.length - shown.length)} more</p>}
    </details>
  );
}

function choices(release: Release, name: string, found: Found): Choice[] {
  const column = release.offers.column(name);
  const counts = found.counts.get(name)!;
  const known = column.values.map((value, position) => ({
    value: String(value),
    label: choiceLabel(release, name, String(value)),
    count: counts[position + 1]!,
  }));
  const none = NO_VALUE[name] !== undefined && counts[0]! > 0 ? [{ value: NONE, label: choiceLabel(release, name, NONE), count: counts[0]! }] : [];
  return [...none, ...known];
}

/** What a choice is called, of a filter named after its column. */
export function choiceLabel(release: Release, name: string, value: string): string {
  if (value === NONE) return NO_VALUE[name] ?? "not known";
  if (name === "provider") return release.providerTitle(value);
  if (name !== "continent") return value;
  return value.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" ");
}

/** The chosen first, then what has offers, then what has none. */
function order(choices: Choice[], chosen: string[]): Choice[] {
  const rank = ({ value, count }: Choice) => (chosen.includes(value) ? 0 : count > 0 ? 1 : 2);
  return choices.map((choice) => choice).sort((one, other) => rank(one) - rank(other));
}
