/** Offers side by side. */

import type { ViewProps } from "./app";
import { withUnit } from "./format";
import { Group, Sheet } from "./sheet";
import { accelerators } from "./table";
import { findOffer, ownPrice, seller, type ColumnInfo, type Release } from "./release";
import { addressOf, list, listText } from "./state";

const FIRST_GROUPS = ["Prices", "Accelerators", "Machine"];

export function Compare({ release, parameters, change }: ViewProps) {
  const keys = list(parameters.offers);
  const rows = keys.map((key) => findOffer(release.offers, key)).filter((row) => row !== null);
  if (rows.length === 0) {
    return (
      <section class="prose">
        <h1>Compare</h1>
        <p>
          Nothing is selected. Tick machines in the <a href={addressOf("offers", { selected: "" })}>table of offers</a> first.
        </p>
      </section>
    );
  }
  const groups = Map.groupBy(compared(release, rows), (info) => info.group);
  return (
    <section class="sheet-view">
      <div class="title-row">
        <h1>Compare</h1>
        <a class="button" href={addressOf("offers", { selected: listText(keys) })}>
          Back to the table
        </a>
      </div>
      <Sheet
        label="Offers side by side"
        heads={rows.map((row, position) => ({
          name: release.offers.column("instance_type").text(row),
          note: `${seller(release, row)}, ${release.offers.column("region").text(row)}`,
          remove: () => change({ offers: listText(keys.filter((_, other) => other !== position)) }),
        }))}
      >
        {[...groups].map(([group, columns]) => (
          <Group key={group} heading={group} columns={rows.length} lines={() => columns.map((info) => <Line key={info.name} release={release} info={info} rows={rows} />)} />
        ))}
      </Sheet>
    </section>
  );
}

function compared(release: Release, rows: number[]): ColumnInfo[] {
  const used = release.facts.columns.filter(
    (info) =>
      !["provider", "region", "instance_type", "observed_at", "accelerator_id"].includes(info.name) &&
      rows.some((row) => release.offers.column(info.name).at(row) !== null),
  );
  const place = (info: ColumnInfo) => FIRST_GROUPS.indexOf(info.group) + 1 || FIRST_GROUPS.length + 1;
  return used.sort((one, other) => place(one) - place(other));
}

function written(release: Release, info: ColumnInfo, row: number): string {
  if (info.name === "accelerator_name") return accelerators(release, row);
  if (info.name === "on_demand_hourly") return ownPrice(release.offers, row);
  return withUnit(info, release.offers.column(info.name).at(row));
}

/** Columns in which less is better: the best is marked. */
function lowest(release: Release, info: ColumnInfo, rows: number[]): number | null {
  const values = rows.map((row) => release.offers.column(info.name).number(row)).filter((value) => value !== null);
  if (info.kind !== "money" || values.length < 2) return null;
  return Math.min(...values);
}

function Line({ release, info, rows }: { release: Release; info: ColumnInfo; rows: number[] }) {
  const column = release.offers.column(info.name);
  const best = lowest(release, info, rows);
  return (
    <tr>
      <th scope="row" title={info.description}>
        {info.heading}
      </th>
      {rows.map((row) => {
        const value = column.at(row);
        const isBest = value !== null && value === best;
        const text = written(release, info, row);
        return (
          <td key={row} class={isBest ? "best" : undefined}>
            {text || <span class="muted">–</span>}
            {isBest && <span class="hidden"> (lowest)</span>}
          </td>
        );
      })}
    </tr>
  );
}
