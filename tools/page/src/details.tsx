/** One offer in a dialog: what the machine is, the price ladder, similar machines, and where else it is sold. */

import { useEffect, useRef } from "preact/hooks";
import type { ViewProps } from "./app";
import { day, integer, percent, usd, withUnit, words } from "./format";
import { flagOf, headingOf, LINUX, ON_DEMAND, OWN, priceColumn, priced, SYSTEMS, WAYS, type Basis } from "./prices";
import { addressOf, listText } from "./state";
import { accelerators } from "./table";
import { findOffer, offerKey, ownPrice, seller, type ColumnInfo, type Release } from "./release";
import { acceleratorPage, machinePage } from "./links";

const MOST_REGIONS = 24; // other regions listed in the dialog
const MOST_SIMILAR = 4; // machines that are compared with similar ones
const ALIKE = 1.25; // ratio of the memory of similar machines

export function Details({ release, parameters, basis, change }: ViewProps & { basis: Basis }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const row = parameters.open ? findOffer(release.offers, parameters.open) : null;
  useEffect(() => {
    if (row === null) dialog.current?.close();
    else if (!dialog.current?.open) dialog.current?.showModal();
    if (row !== null) dialog.current?.scrollTo({ top: 0 });
  }, [row]);
  const close = () => change({ open: "" });
  return (
    <dialog
      ref={dialog}
      class="details"
      aria-labelledby="offer-name"
      onClose={() => parameters.open && close()}
      onClick={(event) => event.target === dialog.current && close()}
    >
      {row !== null && <Offer release={release} row={row} basis={basis} close={close} change={change} />}
    </dialog>
  );
}

interface OfferProps {
  release: Release;
  row: number;
  basis: Basis;
  close: () => void;
  change: ViewProps["change"];
}

function Offer({ release, row, basis, close, change }: OfferProps) {
  const { offers } = release;
  const text = (name: string) => offers.column(name).text(row);
  const [provider, region, type] = [text("provider"), text("region"), text("instance_type")];
  const devices = accelerators(release, row);
  const deviceId = text("accelerator_id");
  const alike = similar(release, row);
  const compared = [row, ...alike].map((other) => offerKey(offers, other)).slice(0, MOST_SIMILAR);
  const hasPage = release.facts.machine_pages === "all" || (offers.column("accelerator_count").number(row) ?? 0) > 0;
  return (
    <article>
      <header>
        <h2 id="offer-name">{type}</h2>
        <p>
          {seller(release, row)} · {region}
          {text("country") && ` (${text("country")})`}
        </p>
        <button type="button" class="close" aria-label="Close" onClick={close}>
          ×
        </button>
      </header>
      {devices && (
        <p class="lead">
          {deviceId ? (
            <a href={acceleratorPage(deviceId)} target="_blank">
              {devices}
            </a>
          ) : (
            devices
          )}
        </p>
      )}
      <p class="links">
        {hasPage && (
          <a href={machinePage(provider, type)} target="_blank">
            Page of {type}
          </a>
        )}
        <a href={`#compare?${new URLSearchParams({ offers: listText(compared) })}`}>Compare with similar machines</a>
        <a href={addressOf("offers", { open: offerKey(offers, row) })} target="_blank">
          Link to this offer
        </a>
      </p>
      <Ways release={release} row={row} basis={basis} />
      <h3>Price history</h3>
      <History release={release} row={row} />
      <h3>Similar machines at other clouds</h3>
      <Offers release={release} rows={alike} basis={basis} change={change} named none="No other cloud of this release has a similar machine." />
      <h3>Other regions</h3>
      <Offers release={release} rows={sameType(release, row)} basis={basis} change={change} none="No other region of this release has it." />
      <Facts release={release} row={row} />
      <h3>Cite it</h3>
      <pre>{citation(release, row)}</pre>
      <p class="hint">The vendor's own line behind the price:</p>
      <pre>
        hwprices explain {type} --region {region} --os {basis.os}
      </pre>
    </article>
  );
}

function citation(release: Release, row: number): string {
  const text = (name: string) => release.offers.column(name).text(row);
  const price = ownPrice(release.offers, row);
  return `${seller(release, row)} ${text("instance_type")}, ${text("region")}, Linux${price && `, on-demand ${price}`}, seen ${day(text("observed_at"))}. ${release.facts.about.citation}`;
}

/** The price of every purchase option, most expensive first, as bars. */
function Ways({ release, row, basis }: Pick<OfferProps, "release" | "row" | "basis">) {
  const { offers } = release;
  const machine = { ...basis, perGpu: false };
  const amount = (name: string) => priceColumn(release, [name], machine).number(row);
  const columns = basis.os === LINUX ? release.options.map(({ name }) => name) : WAYS.map(({ column }) => column);
  const ladder = columns
    .flatMap((name) => {
      const price = amount(name);
      return price === null ? [] : [{ name, price }];
    })
    .sort((one, other) => other.price - one.price);
  const own = amount(OWN);
  if (ladder.length === 0) {
    const reason = words("reason", offers.column("on_demand_reason").text(row));
    return (
      <p class="note">
        {own === null
          ? `No price is known${reason && `: ${reason}`}.`
          : `On-demand ${priced(own, { ...machine, period: "hour" }, offers.column("currency").text(row))} per hour. Currencies are never converted.`}
      </p>
    );
  }
  const onDemand = amount(ON_DEMAND);
  return (
    <table class="ways">
      <caption>Price ladder, {SYSTEMS[basis.os] ?? basis.os}, whole machine</caption>
      <thead>
        <tr>
          <th>Purchase option</th>
          <td />
          <th class="figure">$/h</th>
          <th class="figure">$/mo</th>
          <th class="figure">vs on-demand</th>
        </tr>
      </thead>
      <tbody>
        {ladder.map(({ name, price }) => (
          <tr key={name}>
            <th scope="row" title={release.columns.get(name)?.description}>
              {headingOf(release, name)}
              {flagOf(release, row, name) && <small class="flag"> ⚑ {flagOf(release, row, name)}</small>}
            </th>
            <td class="bar-cell">
              <meter min={0} max={ladder[0]!.price} value={price} aria-hidden="true" />
            </td>
            <td class="figure">{priced(price, { ...machine, period: "hour" })}</td>
            <td class="figure">{priced(price, { ...machine, period: "month" })}</td>
            <td class="figure muted">{onDemand !== null && price !== onDemand && saving(price, onDemand)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function saving(price: number, onDemand: number): string {
  const ratio = price / onDemand - 1;
  return `${ratio > 0 ? "+" : "−"}${percent(Math.abs(ratio))}`;
}

interface OffersProps extends Pick<OfferProps, "release" | "basis" | "change"> {
  rows: number[];
  none: string;
  /** Whether the machines have names of their own. */
  named?: boolean;
}

/** Other offers, cheapest on demand first. */
function Offers({ release, rows, basis, change, none, named }: OffersProps) {
  const { offers } = release;
  if (rows.length === 0) return <p class="muted">{none}</p>;
  const price = priceColumn(release, [ON_DEMAND], { ...basis, perGpu: false });
  const order = (row: number) => price.number(row) ?? Infinity;
  return (
    <ul class="regions">
      {rows
        .toSorted((one, other) => order(one) - order(other))
        .slice(0, MOST_REGIONS)
        .map((other) => {
          const amount = price.number(other);
          return (
            <li key={other}>
              <a
                class="button"
                href={addressOf("offers", { open: offerKey(offers, other) })}
                onClick={(event) => {
                  if (event.ctrlKey || event.metaKey) return;
                  event.preventDefault();
                  change({ open: offerKey(offers, other) }, true);
                }}
              >
                {named && `${release.providerTitle(offers.column("provider").text(other))} ${offers.column("instance_type").text(other)}, `}
                {offers.column("region").text(other)} <b>{amount === null ? "–" : priced(amount, basis)}</b>
              </a>
            </li>
          );
        })}
      {rows.length > MOST_REGIONS && <li>and {integer(rows.length - MOST_REGIONS)} more</li>}
    </ul>
  );
}

/** The cheapest machine of each other cloud with the same accelerators, or as many vCPUs and about as much memory. */
function similar(release: Release, row: number): number[] {
  const { offers } = release;
  const price = offers.column(ON_DEMAND);
  const [device, count, provider] = ["accelerator_id", "accelerator_count", "provider"].map((name) => offers.column(name));
  const [vcpus, memory, arch, kind] = ["vcpus", "memory_gib", "arch", "accelerator_kind"].map((name) => offers.column(name));
  const isSame = device!.codes[row]
    ? (other: number) => device!.codes[other] === device!.codes[row] && count!.codes[other] === count!.codes[row]
    : (other: number) => {
        const parts = [vcpus!, arch!, kind!];
        const ratio = (memory!.number(other) ?? NaN) / (memory!.number(row) ?? NaN);
        return parts.every(({ codes }) => codes[row] !== 0 && codes[other] === codes[row]) && ratio > 1 / ALIKE && ratio < ALIKE;
      };
  const best = new Map<number, number>();
  for (let other = 0; other < offers.rows; other++) {
    const seller = provider!.codes[other]!;
    if (seller === provider!.codes[row] || price.codes[other] === 0 || !isSame(other) || release.isCommunity(other)) continue;
    const known = best.get(seller);
    if (known === undefined || price.codes[other]! < price.codes[known]!) best.set(seller, other);
  }
  return [...best.values()];
}

const SPARK = { width: 220, height: 36 };

/** The on-demand price per GPU from release to release. */
function History({ release, row }: Pick<OfferProps, "release" | "row">) {
  const { history, offers } = release;
  const [provider, region, type] = offers.texts(row, "provider", "region", "instance_type");
  const steps = (history?.where({ provider: provider!, region: region!, instance_type: type! }) ?? []).map((step) => ({
    usd: history!.column("usd").number(step)!,
    from: history!.column("valid_from").text(step),
  }));
  if (steps.length === 0) {
    return (
      <p class="muted">
        First release with it. Past prices: <code>hwprices history {type}</code>
      </p>
    );
  }
  steps.sort((one, other) => one.from.localeCompare(other.from));
  const [first, last] = [steps[0]!, steps[steps.length - 1]!];
  const [start, end] = [Date.parse(first.from), Date.parse(release.facts.about.created_at)];
  const highest = Math.max(...steps.map(({ usd: amount }) => amount)) * 1.1;
  const x = (time: string) => (end > start ? ((Date.parse(time) - start) / (end - start)) * SPARK.width : 0);
  const y = (amount: number) => SPARK.height * (1 - amount / highest);
  const path = steps.map(({ usd: amount, from }, position) => (position === 0 ? `M0 ${y(amount)}` : `H${x(from)}V${y(amount)}`)).join("");
  const words = first.usd === last.usd ? `${usd(last.usd)} since ${day(first.from)}` : `${usd(first.usd)} on ${day(first.from)}, ${usd(last.usd)} since ${day(last.from)}`;
  return (
    <p class="spark">
      <svg viewBox={`0 -2 ${SPARK.width} ${SPARK.height + 4}`} width={SPARK.width} height={SPARK.height} role="img" aria-label={words}>
        <path d={`${path}H${SPARK.width}`} />
      </svg>
      {words}, on-demand per GPU and hour
    </p>
  );
}

function sameType({ offers }: Release, row: number): number[] {
  const [provider, type] = offers.texts(row, "provider", "instance_type");
  return offers.where({ provider: provider!, instance_type: type! }).filter((other) => other !== row);
}

const FIRST_GROUPS = ["Accelerators", "Machine"];

/** What is known of the machine, in groups of which the first are open. */
function Facts({ release, row }: { release: Release; row: number }) {
  const { offers } = release;
  const shown = release.facts.columns.filter(
    (info) =>
      !info.option &&
      !["provider", "region", "instance_type", "country", "accelerator_id"].includes(info.name) &&
      offers.column(info.name).text(row) !== "",
  );
  const groups = Map.groupBy(shown, ({ group }) => group);
  const order = [...FIRST_GROUPS, ...[...groups.keys()].filter((group) => !FIRST_GROUPS.includes(group))];
  return (
    <>
      {order.map((group) => {
        const own = groups.get(group);
        return (
          own && (
            <details key={group} class="group" open={FIRST_GROUPS.includes(group)}>
              <summary>{group === "Accelerators" ? "GPUs" : group}</summary>
              <dl class="facts">
                {own.map((info) => (
                  <div key={info.name} title={info.description}>
                    <dt>{info.heading}</dt>
                    <dd>{fact(release, info, row)}</dd>
                  </div>
                ))}
              </dl>
            </details>
          )
        );
      })}
    </>
  );
}

function fact(release: Release, info: ColumnInfo, row: number): string {
  if (info.name === OWN) return ownPrice(release.offers, row);
  const value = release.offers.column(info.name).at(row);
  return info.name === "observed_at" ? day(String(value)) : withUnit(info, value);
}
