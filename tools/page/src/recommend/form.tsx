/** The questions of `hwprices recommend`, as a form. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { ViewProps } from "../app";
import { BY_NAME } from "../format";
import type { Release } from "../release";
import { belongs, COMMUNITY, DEFAULTS, OBJECTIVES, WORKLOADS } from "./question";

interface FormProps {
  release: Release;
  parameters: Record<string, string>;
  change: ViewProps["change"];
}

type Choices = [value: string, label: string][];

export function Form({ release, parameters, change }: FormProps) {
  const { facts } = release.knowledge;
  const workload = parameters.workload || DEFAULTS.workload!;
  const isTraining = workload !== "inference";
  const models = facts.models.map(({ model_id, name }): [string, string] => [model_id, name]);
  const formats = Object.keys(facts.constants.bytes_per_weight).map((name): [string, string] => [name, name.toUpperCase()]);
  const chooseWorkload = (value: string) => {
    const foreign = Object.keys(parameters).filter((name) => !belongs(name, value));
    change({ ...Object.fromEntries(foreign.map((name) => [name, ""])), workload: value });
  };
  const props = { parameters, change };
  return (
    <form class="filters" aria-label="The question" onSubmit={(event) => event.preventDefault()}>
      <Select {...props} name="model" heading="Model" choices={models.sort(([, one], [, other]) => BY_NAME.compare(one, other))} />
      <Select {...props} name="workload" heading="What to do with it" choices={Object.entries(WORKLOADS)} set={chooseWorkload} />
      <Select {...props} name="objective" heading="What counts" choices={Object.entries(OBJECTIVES)} />
      <Select
        {...props}
        name="precision"
        heading="Format of the weights"
        choices={[["", isTraining ? "BF16" : "As measured, else FP8"], ...formats]}
      />
      {isTraining ? <TrainingFields {...props} /> : <ServingFields {...props} />}
      <More heading="Where and how to buy">
        <Places release={release} {...props} />
      </More>
      <More heading="Budget">
        <Numeric {...props} name="budget" heading={isTraining ? "USD for the training" : "USD per hour"} />
        <Numeric {...props} name="budget-per-month" heading="USD per month" />
        <Numeric {...props} name="budget-to-buy" heading="USD to buy" />
      </More>
      <button type="button" onClick={() => change(Object.fromEntries(Object.keys(parameters).map((name) => [name, ""])))}>
        Start again
      </button>
    </form>
  );
}

type FieldProps = Omit<FormProps, "release">;

function ServingFields(props: FieldProps) {
  return (
    <>
      <More heading="Requests">
        <Pair heading="Tokens">
          <Numeric {...props} name="input" heading="in" />
          <Numeric {...props} name="output" heading="out" />
        </Pair>
        <Numeric {...props} name="users" heading="Users at once" placeholder="as many as fit" />
        <Numeric {...props} name="requests-per-second" heading="or requests per second" />
      </More>
      <More heading="Speed">
        <Numeric {...props} name="min-tokens-per-second" heading="Tokens/s for each user, at least" placeholder="5: reading speed" />
        <Numeric {...props} name="max-seconds-to-first-token" heading="Seconds to the first token, at most" />
      </More>
      <More heading="More about serving" open={false}>
        <Select {...props} name="kv-precision" heading="Format of the cache" choices={[["", "As the weights"], ["fp8", "FP8"], ["fp16", "FP16"]]} />
        <Numeric {...props} name="max-nodes" heading="Machines for one copy, at most" placeholder="1" />
      </More>
    </>
  );
}

function TrainingFields(props: FieldProps) {
  return (
    <>
      <More heading="The training">
        <Numeric {...props} name="tokens" heading="Tokens to train on" />
        <Numeric {...props} name="days" heading="Days, at most" placeholder="30" />
        <Numeric {...props} name="context" heading="Tokens of a sequence" />
      </More>
      <More heading="More about training" open={false}>
        <Select {...props} name="optimizer" heading="Optimizer" choices={[["adam", "Adam"], ["adam8bit", "Adam in 8 bits"], ["sgd", "SGD"]]} />
        <Numeric {...props} name="max-nodes" heading="Machines, at most" />
      </More>
    </>
  );
}

const OPTIONS: Choices = [
  ["on_demand", "On demand"],
  ["spot", "Spot"],
  ["commit_1y", "Commitment of 1 year"],
  ["commit_3y", "Commitment of 3 years"],
  ["block", "Reservation of days"],
  ["any", "Cheapest of all"],
];

function Places({ release, parameters, change }: FormProps) {
  const props = { parameters, change };
  const any = (names: string[]): Choices => [["", "Any"], ...names.map((name): [string, string] => [name, name])];
  const providers = release.providerIds.map((id): [string, string] => [id, release.providerTitle(id)]);
  const places = useMemo(() => placesOf(release, parameters.provider, parameters.country), [parameters.provider, parameters.country]);
  return (
    <>
      <Select {...props} name="where" heading="Rent or buy" choices={[["", "Both"], ["cloud", "Rent"], ["local", "Buy"]]} />
      <Select {...props} name="provider" heading="Provider" choices={[["", "Any"], ...providers]} />
      <Select {...props} name="country" heading="Country" choices={any(places.countries)} />
      <Select {...props} name="region" heading="Region" choices={any(places.regions)} />
      <Select {...props} name="option" heading="Bought as" choices={OPTIONS} />
      <Select {...props} name="community" heading="Machines of private people" choices={[["", "Leave out"], [COMMUNITY, "Rank them too"]]} />
    </>
  );
}

/** Countries and regions with accelerators, of the provider and country that are chosen. */
function placesOf(release: Release, provider = "", country = ""): { countries: string[]; regions: string[] } {
  const [providers, countries, regions] = ["provider", "country", "region"].map((name) => release.offers.column(name));
  const rows = release.deviceRows.filter((row) => !provider || providers!.text(row) === provider);
  const inCountry = rows.filter((row) => !country || countries!.text(row) === country);
  const names = (column: typeof providers, of: readonly number[]) =>
    [...new Set(of.map((row) => column!.text(row)))].filter(Boolean).sort(BY_NAME.compare);
  return { countries: names(countries, rows), regions: names(regions, inCountry) };
}

function More({ heading, open = true, children }: { heading: string; open?: boolean; children: ComponentChildren }) {
  return (
    <details class="field choice" open={open}>
      <summary>
        <span>{heading}</span>
      </summary>
      <div class="filters">{children}</div>
    </details>
  );
}

function Pair({ heading, children }: { heading: string; children: ComponentChildren }) {
  return (
    <fieldset class="field pair">
      <legend>{heading}</legend>
      {children}
    </fieldset>
  );
}

interface SelectProps extends FieldProps {
  name: string;
  heading: string;
  choices: Choices;
  set?: (value: string) => void;
}

function Select({ name, heading, choices, parameters, change, set }: SelectProps) {
  const value = parameters[name] || DEFAULTS[name] || "";
  const known = choices.some(([choice]) => choice === value);
  const choose = set ?? ((chosen: string) => change({ [name]: chosen === DEFAULTS[name] ? "" : chosen }));
  return (
    <label class="field">
      <span>{heading}</span>
      <select name={name} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {[...(known ? [] : [[value, value]]), ...choices].map(([choice, label]) => (
          <option key={choice} value={choice}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

function Numeric({ name, heading, placeholder, parameters, change }: FieldProps & { name: string; heading: string; placeholder?: string }) {
  return (
    <label class="field">
      <span>{heading}</span>
      <input
        type="number"
        min="0"
        step="any"
        name={name}
        placeholder={placeholder ?? ""}
        value={parameters[name] ?? ""}
        onInput={(event) => change({ [name]: event.currentTarget.value })}
      />
    </label>
  );
}
