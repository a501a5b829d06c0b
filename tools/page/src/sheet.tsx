/** Tables of the views: things side by side, and plain rows. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface Head {
  name: string;
  href?: string;
  note?: string;
  remove: () => void;
}

/** Up to six things side by side; `children` are its groups of lines. */
export function Sheet({ label, heads, children }: { label: string; heads: Head[]; children: ComponentChildren }) {
  return (
    <div class="scroll sheet" tabIndex={0} role="region" aria-label={`${label}, scrollable`}>
      <table class="compare">
        <caption class="hidden">{label}</caption>
        <thead>
          <tr>
            <td />
            {heads.map(({ name, href, note, remove }, position) => (
              <th key={position} scope="col">
                {href ? <a href={href}>{name}</a> : name}
                {note && <small>{note}</small>}
                <button type="button" class="plain" aria-label={`Remove ${name}`} onClick={remove}>
                  Remove
                </button>
              </th>
            ))}
          </tr>
        </thead>
        {children}
      </table>
    </div>
  );
}

interface GroupProps {
  heading: string;
  columns: number;
  /** Whether its lines are shown on a click only. */
  folded?: boolean;
  lines: () => ComponentChildren[];
  /** What is said without lines. */
  none?: string;
}

export function Group({ heading, columns, folded, lines, none }: GroupProps) {
  const [open, setOpen] = useState(!folded);
  const shown = open ? lines() : [];
  return (
    <tbody>
      <tr class="group">
        <th scope="rowgroup" colSpan={columns + 1}>
          {folded ? (
            <button type="button" class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "▾" : "▸"} {heading}
            </button>
          ) : (
            heading
          )}
        </th>
      </tr>
      {shown}
      {open && shown.length === 0 && (
        <tr>
          <td colSpan={columns + 1} class="muted">
            {none}
          </td>
        </tr>
      )}
    </tbody>
  );
}

interface PlainTableProps {
  label: string;
  headings: string[];
  /** Positions of the columns with figures. */
  figures?: number[];
  rows: ComponentChildren[][];
}

export function PlainTable({ label, headings, figures = [], rows }: PlainTableProps) {
  const classOf = (column: number) => (figures.includes(column) ? "figure" : undefined);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${label}, scrollable`}>
      <table class="plain-table">
        <thead>
          <tr>
            {headings.map((heading, column) => (
              <th key={heading} class={classOf(column)}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...others], position) => (
            <tr key={position}>
              <th scope="row">{first}</th>
              {others.map((value, column) => (
                <td key={column} class={classOf(column + 1)}>
                  {value}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
