/** One offer in a dialog: what the machine is, every way to buy it, and where else it is sold. */

import { useEffect, useRef } from "preact/hooks";
import type { ViewProps } from "./app";
import { day, integer, percent, usd, withUnit, words } from "./format";
import type { Basis } from "./prices";
import { accelerators } from "./table";
import { findOffer, offerKey, ownPrice, seller, type ColumnInfo, type Release } from "./release";
import { acceleratorPage, machinePage } from "./links";

const MOST_REGIONS = 40; // other regions listed in the dialog

export function Details({ release, parameters, change }: ViewProps & { basis: Basis }) {
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
      {row !== null && <Offer release={release} row={row} close={close} change={change} />}
    </dialog>
  );
}

interface OfferProps {
  release: Release;
  row: number;
  close: () => void;
  change: ViewProps["change"];
}

function Offer({ release, row, close, change }: OfferProps) {
  const { offers } = release;
  const text = (name: string) => offers.column(name).text(row);
  const [provider, region, type] = [text("provider"), text("region"), text("instance_type")];
  const devices = accelerators(release, row);
  const deviceId = text("accelerator_id");
  const hasPage = release.facts.machine_pages === "all" || (offers.column("accelerator_count").number(row) ?? 0) > 0;
  return (
    <article>
      <header>
        <h2 id="offer-name">{type}</h2>
        <p>
          {seller(release, row)}, {region}
          {text("country") && ` (${text("country")})`}
        </p>
        <button type="button" class="close" aria-label="Close" onClick={close}>
          ×
        </button>
      </header>
      {devices && (
        <p class="lead">
          {deviceId ? <a href={acceleratorPage(deviceId)}>{devices}</a> : devices}
        </p>
      )}
      <Ways release={release} row={row} />
      <h3>Elsewhere</h3>
      <Elsewhere release={release} row={row} change={change} />
      <h3>The machine</h3>
      <Facts release={release} row={row} />
      <h3>Where this comes from</h3>
      <p>
        Seen at the vendor on {day(text("observed_at"))}. Prices for Linux, shared tenancy, license included.{" "}
        {hasPage && (
          <>
            The <a href={machinePage(provider, type)}>page of {type}</a> leads them back to the vendor's SKUs and pages.
          </>
        )}{" "}
        This command prints the vendor's own line:
      </p>
      <pre>
        hwprices explain {type} --region {region} --os linux
      </pre>
    </article>
  );
}

/** Every way to buy the machine, dearest first, as bars. */
function Ways({ release, row }: { release: Release; row: number }) {
  const { offers } = release;
  const priced = release.options
    .map((info) => ({ info, price: offers.column(info.name).number(row) }))
    .filter((way): way is { info: ColumnInfo; price: number } => way.price !== null)
    .sort((one, other) => other.price - one.price);
  const own = offers.column("on_demand_hourly").number(row);
  const currency = offers.column("currency").text(row);
  if (priced.length === 0) {
    const reason = words("reason", offers.column("on_demand_reason").text(row));
    return (
      <p class="note">
        {own === null
          ? `No price is known${reason && `: ${reason}`}.`
          : `On demand ${currency} ${own} per hour. Prices in other currencies than USD are not converted.`}
      </p>
    );
  }
  const highest = priced[0]!.price;
  const onDemand = offers.column("on_demand_usd_per_hour").number(row);
  return (
    <table class="ways">
      <caption>Every way to buy it, USD per hour</caption>
      <tbody>
        {priced.map(({ info, price }) => (
          <tr key={info.name}>
            <th scope="row" title={info.description}>
              {info.heading}
            </th>
            <td class="bar-cell">
              <meter min={0} max={highest} value={price} aria-hidden="true" />
            </td>
            <td class="figure">{usd(price)}</td>
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

function Elsewhere({ release, row, change }: { release: Release; row: number; change: ViewProps["change"] }) {
  const { offers } = release;
  const others = sameType(release, row).sort(
    (one, other) => (price(release, one) ?? Infinity) - (price(release, other) ?? Infinity),
  );
  if (others.length === 0) return <p class="muted">No other region of this release has it.</p>;
  return (
    <ul class="regions">
      {others.slice(0, MOST_REGIONS).map((other) => (
        <li key={other}>
          <button type="button" onClick={() => change({ open: offerKey(offers, other) }, true)}>
            {offers.column("region").text(other)} <b>{price(release, other) === null ? "–" : usd(price(release, other)!)}</b>
          </button>
        </li>
      ))}
      {others.length > MOST_REGIONS && <li>and {integer(others.length - MOST_REGIONS)} more</li>}
    </ul>
  );
}

function price(release: Release, row: number): number | null {
  return release.offers.column("on_demand_usd_per_hour").number(row);
}

function sameType(release: Release, row: number): number[] {
  const { offers } = release;
  const [provider, type] = [offers.column("provider"), offers.column("instance_type")];
  const rows: number[] = [];
  for (let other = 0; other < offers.rows; other++) {
    const isSame = provider.codes[other] === provider.codes[row] && type.codes[other] === type.codes[row];
    if (isSame && other !== row) rows.push(other);
  }
  return rows;
}

function Facts({ release, row }: { release: Release; row: number }) {
  const { offers } = release;
  const shown = release.facts.columns.filter(
    (info) =>
      !info.option &&
      !["provider", "region", "instance_type", "country", "observed_at"].includes(info.name) &&
      offers.column(info.name).text(row) !== "",
  );
  return (
    <dl class="facts">
      {shown.map((info) => (
        <div key={info.name} title={info.description}>
          <dt>{info.heading}</dt>
          <dd>
            {info.name === "on_demand_hourly"
              ? ownPrice(offers, row)
              : withUnit(info, offers.column(info.name).at(row))}
          </dd>
        </div>
      ))}
    </dl>
  );
}
