/** The filters beside the table of offers. */

import { useState } from "preact/hooks";
import { CHOICES, DEFAULT_OPTION, NONE, PRICE, RANGES, type Found } from "./filter";
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
          placeholder="H100, p5.48xlarge, us-east …"
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
  const { low, high } = range(text);
  const change = (end: "low" | "high", value: string) => {
    const number = value === "" ? null : Number(value);
    set({ [name]: rangeText({ ...range(text), [end]: number }) });
  };
  return (
    <fieldset class="field range">
      <legend>{heading}</legend>
      <input
        type="number"
        min="0"
        step="any"
        name={`${name}_from`}
        placeholder="from"
        aria-label={`${heading}, from`}
        value={low ?? ""}
        onInput={(event) => change("low", event.currentTarget.value)}
      />
      <span aria-hidden="true">–</span>
      <input
        type="number"
        min="0"
        step="any"
        name={`${name}_to`}
        placeholder="to"
        aria-label={`${heading}, to`}
        value={high ?? ""}
        onInput={(event) => change("high", event.currentTarget.value)}
      />
    </fieldset>
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
    label: name === "provider" ? release.providerTitle(String(value)) : String(value),
    count: counts[position + 1]!,
  }));
  const none = counts[0]! > 0 && name === "accelerator_name" ? [{ value: NONE, label: "none", count: counts[0]! }] : [];
  return [...known, ...none];
}

/** The chosen first, then what has offers, then what has none. */
function order(choices: Choice[], chosen: string[]): Choice[] {
  const rank = ({ value, count }: Choice) => (chosen.includes(value) ? 0 : count > 0 ? 1 : 2);
  return choices.map((choice) => choice).sort((one, other) => rank(one) - rank(other));
}
