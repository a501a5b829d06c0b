/** What this release is: its age, what is missing and why, its license, how to cite it. */

import type { ViewProps } from "./app";
import { day, daysBetween, integer, words } from "./format";
import type { Provider, Release } from "./release";

export function About({ release }: ViewProps) {
  const { about } = release.facts;
  return (
    <section class="prose">
      <h1>This release</h1>
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
      <div class="scroll" tabIndex={0} role="region" aria-label="Providers, scrollable">
        <table class="plain-table">
          <thead>
            <tr>
              <th>Provider</th>
              <th>Source</th>
              <th>Seen at the vendor</th>
              <th class="figure">Age at release</th>
              <th class="figure">Offers</th>
              <th class="figure">Machines</th>
              <th class="figure">Regions with prices</th>
              <th>Currencies</th>
            </tr>
          </thead>
          <tbody>
            {about.providers.map((provider) => (
              <ProviderLine key={provider.id} provider={provider} created={about.created_at} />
            ))}
          </tbody>
        </table>
      </div>
      <h2>What is missing, and why</h2>
      <Missing release={release} />
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

function ProviderLine({ provider, created }: { provider: Provider; created: string }) {
  const { observed_from: from, observed_to: to } = provider;
  return (
    <tr>
      <th scope="row">{provider.title}</th>
      <td>
        {provider.origin}
        {provider.status === "kept" && `, kept from release ${provider.kept_from}`}
      </td>
      <td>
        {day(from)}
        {day(from) !== day(to) && ` to ${day(to)}`}
      </td>
      <td class="figure">{from ? `up to ${integer(daysBetween(from, created))} days` : ""}</td>
      <td class="figure">{integer(provider.offers)}</td>
      <td class="figure">{integer(provider.machines)}</td>
      <td class="figure">
        {integer(provider.regions)}
        {provider.regions_listed > provider.regions && ` of ${integer(provider.regions_listed)}`}
      </td>
      <td>{provider.currencies.join(", ")}</td>
    </tr>
  );
}

function Missing({ release }: { release: Release }) {
  const { about } = release.facts;
  const lines = about.providers.flatMap((provider) => [
    ...Object.entries(provider.no_on_demand_price).map(
      ([reason, count]) =>
        `${provider.title}: ${integer(count)} offers have no on-demand price (${words("reason", reason)}).`,
    ),
    ...Object.entries(provider.refused).map(
      ([reason, count]) => `${provider.title}: ${integer(count)} rows were refused (${words("reason", reason)}).`,
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
