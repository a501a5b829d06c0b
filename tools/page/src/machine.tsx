/** The page of a machine type: its prices, and the way of each back to the vendor. */

import { render, type ComponentChildren } from "preact";
import { day, money, number, usd, words } from "./format";
import { acceleratorPage, machineShard } from "./links";
import { unzip } from "./payload";

interface Fact {
  heading: string;
  value: string | number | boolean;
  unit: string;
  meaning: string;
  source: string;
}

interface Offer {
  region: string;
  country?: string;
  currency?: string;
  on_demand_hourly?: number;
  on_demand_reason?: string;
  [option: string]: string | number | undefined;
}

interface Price {
  bought: string;
  region: string;
  zone: string | null;
  arithmetic: string;
  flags: string[];
  skus: string[];
  source_url: string;
  observed_at: string;
  raw_sha256: string;
  price_id: string;
}

interface Trace {
  sku: string;
  state: string;
  line: string;
  fields: [string, string][];
}

interface Machine {
  seller: string;
  accelerator_name: string | null;
  accelerator_count: number | null;
  accelerator_id: string | null;
  facts: Fact[];
  observed_at: string | null;
  corrections: string[];
  options: [string, string][];
  offers: Offer[];
  journeys: { cheapest: Price[]; others: Price[]; lines: Trace[] };
}

/** What a trace says that has no line. */
const NO_LINE: Record<string, string> = {
  altered: "The landed page is no longer what was landed.",
  large: "The landed page is too large to be read for this report; hwprices explain prints the line.",
  unreadable: "The landed page cannot be read.",
};

function Page({ provider, name, machine }: { provider: string; name: string; machine: Machine }) {
  const { accelerator_name: device, accelerator_count: count, accelerator_id: id, journeys } = machine;
  const missing = journeys.lines.some(({ state }) => state === "missing");
  const traced = journeys.lines.filter(({ state }) => state !== "missing");
  const first = machine.offers[0]!;
  return (
    <>
      <h1>{name}</h1>
      <p class="lead">
        {machine.seller}
        {device && `, ${count} × `}
        {device && (id ? <a href={acceleratorPage(id)}>{device}</a> : device)}
      </p>
      <p class="links">
        <a href={offerAddress(provider, first.region, name)}>Offers, similar machines and comparison</a>
      </p>
      <h2>Prices, USD per hour</h2>
      <Offers provider={provider} name={name} machine={machine} />
      {machine.facts.length > 0 && (
        <>
          <h2>The machine</h2>
          <dl class="facts">
            {machine.facts.map(({ heading, value, unit, meaning, source }) => (
              <div key={heading} title={meaning}>
                <dt>{heading}</dt>
                <dd>
                  {typeof value === "boolean" ? (value ? "yes" : "no") : typeof value === "number" ? number(value) : value} {unit}
                  {source && <small> ({link(source)})</small>}
                </dd>
              </div>
            ))}
          </dl>
          <p class="hint">
            As the vendor describes it{machine.observed_at && `, seen ${day(machine.observed_at)}`}
            {machine.corrections.length > 0 && `, with corrections: ${machine.corrections.join(", ")}`}.
          </p>
        </>
      )}
      <h2>Sources of the prices</h2>
      {journeys.cheapest.length > 0 && <p class="hint">The cheapest price of each purchase option: Linux, shared tenancy.</p>}
      {journeys.cheapest.length + journeys.others.length === 0 && <p>No price is known.</p>}
      {journeys.cheapest.map((price) => (
        <Journey key={price.price_id} price={price} />
      ))}
      {missing && <p class="note">Landed pages are not beside this release. Where they are, the commands above print the vendor's lines.</p>}
      {traced.map((trace) => (
        <details class="group" key={trace.sku}>
          <summary>Vendor's line of {trace.sku}</summary>
          {trace.fields.length > 0 ? (
            <dl class="vendor">
              {trace.fields.map(([term, value], position) => (
                <div key={position}>
                  <dt>{term}</dt> <dd>{link(value)}</dd>
                </div>
              ))}
            </dl>
          ) : (
            <p>{trace.line ? <code>{trace.line}</code> : (NO_LINE[trace.state] ?? "The page does not name this SKU by its id.")}</p>
          )}
        </details>
      ))}
      {journeys.others.length > 0 && (
        <details class="group">
          <summary>On-demand and spot in other regions ({journeys.others.length})</summary>
          {journeys.others.map((price) => (
            <Journey key={price.price_id} price={price} />
          ))}
        </details>
      )}
    </>
  );
}

function Offers({ provider, name, machine: { options, offers } }: { provider: string; name: string; machine: Machine }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Prices by region, scrollable">
      <table class="plain-table">
        <thead>
          <tr>
            <th>Region</th>
            {options.map(([column, heading]) => (
              <th key={column} class="figure">
                {heading}
              </th>
            ))}
            {options.length === 0 && <th>On-demand</th>}
          </tr>
        </thead>
        <tbody>
          {offers.map((offer) => {
            const reason = words("reason", offer.on_demand_reason ?? "no price");
            const isOther = offer.currency !== "USD" && offer.on_demand_hourly !== undefined;
            return (
              <tr key={offer.region}>
                <th scope="row">
                  <a href={offerAddress(provider, offer.region, name)}>{offer.region}</a> <small class="muted">{offer.country}</small>
                </th>
                {isOther && (
                  <td class="figure" colSpan={options.length || 1}>
                    {offer.currency} {money(offer.on_demand_hourly!)} on demand
                  </td>
                )}
                {!isOther && options.length === 0 && <td class="muted">{reason}</td>}
                {!isOther &&
                  options.map(([column]) => {
                    const price = offer[column];
                    const why = column === "on_demand_usd_per_hour" ? reason : "–";
                    return (
                      <td key={column} class={typeof price === "number" ? "figure" : "figure muted"}>
                        {typeof price === "number" ? usd(price) : why}
                      </td>
                    );
                  })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Journey({ price }: { price: Price }) {
  const lines: [string, ComponentChildren][] = [
    ["Price", price.arithmetic],
    ["Flags", price.flags.join(", ").replaceAll("_", " ")],
    [price.skus.length > 1 ? "SKUs" : "SKU", price.skus.join(", ")],
    ["Read from", <>{link(price.source_url)}, seen {day(price.observed_at)}</>],
    ["Page, SHA-256", <code>{price.raw_sha256}</code>],
    ["Vendor's line", <code>hwprices explain {price.price_id}</code>],
  ];
  return (
    <article class="journey">
      <h3>
        {price.bought.replace(/^./, (letter) => letter.toUpperCase())}: {price.region} {price.zone && `(${price.zone})`}
      </h3>
      <dl class="lines">
        {lines.map(
          ([term, text]) =>
            text && (
              <div key={term}>
                <dt>{term}</dt>
                <dd>{text}</dd>
              </div>
            ),
        )}
      </dl>
    </article>
  );
}

function offerAddress(provider: string, region: string, name: string): string {
  return `index.html#offers?${new URLSearchParams({ open: [provider, region, name].join("|") })}`;
}

/** Only web addresses become links: a vendor's page may hold any text. */
function link(text: string): ComponentChildren {
  return /^https?:\/\//.test(text) ? (
    <a href={text} target="_blank" rel="noreferrer">
      {text}
    </a>
  ) : (
    text
  );
}

declare global {
  interface Window {
    /** Called by the file of the machine type, which is a script because pages on disk may load no other. */
    machines: (figures: string) => void;
  }
}

function show(): void {
  const root = document.getElementById("machine")!;
  const [provider = "", name = ""] = location.hash.slice(1).split("/").map(decodeURIComponent);
  const missing = () => render(<p>This report has no machine type “{name}”.</p>, root);
  window.machines = async (figures) => {
    const machine = (JSON.parse(await unzip(figures)) as Record<string, Machine>)[name];
    if (!machine) return missing();
    document.title = `${name} · hwprices`;
    render(<Page provider={provider} name={name} machine={machine} />, root);
    document.documentElement.dataset.ready = "machine";
  };
  const script = document.createElement("script");
  script.src = machineShard(provider, name);
  script.onerror = missing;
  document.body.append(script);
}

addEventListener("hashchange", () => location.reload());
show();
