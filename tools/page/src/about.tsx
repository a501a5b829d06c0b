/** What this release is: its age, what is missing and why, its license, how to cite it. */

import type { ViewProps } from "./app";
import { day, daysBetween, integer, number, usd, words } from "./format";
import type { Provider, Release, Row } from "./release";
import { PlainTable } from "./sheet";

export function About({ release }: ViewProps) {
  const { about } = release.facts;
  return (
    <section class="prose">
      <h1>Release</h1>
      {release.sampleOnly && (
        <p class="note">
          These figures are the <b>sample</b> that comes with hwprices: real prices of a few regions, recorded on
          different days. They show what the data looks like. They are not today's prices.
        </p>
      )}
      <p>
        Release <b>{about.version}</b>, made on {day(about.created_at)} by hwprices {about.code_version}. All prices are
        for Linux, shared tenancy and license included; prices in USD unless another currency is named. Currencies are
        never converted.
      </p>
      <h2>How old the figures are</h2>
      <PlainTable
        label="Providers"
        headings={["Provider", "Source", "Seen at the vendor", "Age at release", "Offers", "Machines with offers", "Regions with offers", "Currencies"]}
        figures={[3, 4, 5, 6]}
        rows={about.providers.map((provider) => providerLine(provider, about.created_at))}
      />
      <h2>What is missing, and why</h2>
      <Missing release={release} />
      <Changes release={release} />
      <h2>Where a price comes from</h2>
      <p>
        Each price has an id and leads back to the vendor's own line: the page of a machine type shows the SKU, the
        arithmetic and the checksum of the page that was read. <code>hwprices explain PRICE_ID</code> prints that line
        where the pages are kept.
      </p>
      <h2>License and citation</h2>
      <p>
        Selection, matching and derived figures:{" "}
        <a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a>. Prices are facts of the vendors; MLPerf is
        a trademark of MLCommons. Without warranty: look at the vendor's page before you buy.
      </p>
      <pre>{about.citation}</pre>
      <h2>Tables of this release</h2>
      <ul class="tables">
        {Object.entries(about.tables).map(([name, rows]) => (
          <li key={name}>
            <code>{name}</code> {integer(rows)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function providerLine(provider: Provider, created: string): string[] {
  const { observed_from: from, observed_to: to, regions, regions_listed: listed } = provider;
  return [
    provider.title,
    provider.status === "kept" ? `${provider.origin}, kept from release ${provider.kept_from}` : provider.origin,
    day(from) === day(to) ? day(from) : `${day(from)} to ${day(to)}`,
    from ? `up to ${integer(daysBetween(from, created))} days` : "",
    integer(provider.offers),
    integer(provider.machines),
    listed > regions ? `${integer(regions)} of ${integer(listed)}` : integer(regions),
    provider.currencies.join(", "),
  ];
}

const CHANGES: Record<string, string> = {
  price_up: "the vendor's price",
  price_down: "the vendor's price",
  restated: "restated: our reading changed, not the price",
};

function Changes({ release }: { release: Release }) {
  const { lines, prices } = release.facts.changes;
  if (lines.length === 0 && prices.length === 0) return null;
  return (
    <>
      <h2>What changed since the release before</h2>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {prices.length > 0 && (
        <PlainTable
          label="Prices that changed"
          headings={["Machine", "Provider", "Region", "Purchase option", "Before, per hour", "Now, per hour", "Change", "What it is"]}
          figures={[4, 5, 6]}
          rows={prices.map((row) => [
            String(row.instance_type),
            release.providerTitle(String(row.provider)),
            String(row.region),
            bought(row),
            inCurrency(row.old_effective_hourly, row.currency),
            inCurrency(row.new_effective_hourly, row.currency),
            typeof row.change_percent === "number" ? `${row.change_percent > 0 ? "+" : ""}${number(row.change_percent)} %` : "",
            CHANGES[String(row.change)] ?? words("kind", String(row.change)),
          ])}
        />
      )}
    </>
  );
}

function bought(row: Row): string {
  const years = Number(row.term_months ?? 0) / 12;
  const option = words("option", String(row.purchase_option));
  return [option, years > 0 && `${years} y`, row.os !== "linux" && String(row.os)].filter(Boolean).join(", ");
}

function inCurrency(value: Row[string], currency: Row[string]): string {
  if (typeof value !== "number") return "";
  return currency === "USD" ? usd(value) : `${String(currency)} ${number(value)}`;
}

function counted(count: number, what: string): string {
  return `${integer(count)} ${what}${count === 1 ? "" : "s"}`;
}

function Missing({ release }: { release: Release }) {
  const { about } = release.facts;
  const lines = about.providers.flatMap((provider) => [
    ...Object.entries(provider.no_on_demand_price).map(
      ([reason, count]) =>
        `${provider.title}: ${counted(count, "offer")} without an on-demand price (${words("reason", reason)}).`,
    ),
    ...Object.entries(provider.refused).map(
      ([reason, count]) => `${provider.title}: ${counted(count, "row")} refused (${words("reason", reason)}).`,
    ),
    ...provider.troubles.map(({ unit, status, reason }) => `${provider.title}: ${unit} ${status}: ${reason}`),
  ]);
  const devices = about.unmatched_accelerators.map(
    ({ provider, vendor_name: name, accelerator_id: id, instance_types: types }) =>
      `${release.providerTitle(provider)}: no spec sheet for ${id ?? name ?? "an accelerator that the vendor does not name"} (${types.slice(0, 3).join(", ")}).`,
  );
  const all = [...lines, ...devices];
  if (all.length === 0) return <p>Nothing is known to be missing.</p>;
  return (
    <ul>
      {all.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}
