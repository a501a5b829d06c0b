/** A chart with what it shows in words, and the same figures as a table. */

import * as Plot from "@observablehq/plot";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { PlainTable } from "../sheet";

export interface ChartProps {
  title: string;
  /** What the chart shows, in one sentence. */
  headline: string;
  /** The same figures in words, for who hears the page. */
  words: string;
  plot: (width: number) => Plot.PlotOptions;
  /** What the plot is made from: it is drawn anew when one of these changes. */
  inputs: readonly unknown[];
  /** Its rows are made when somebody opens it. */
  table: { headings: string[]; rows: () => (string | number)[][] };
  children?: ComponentChildren;
  legend?: { label: string; color: string }[];
}

const MARGIN = 42; // pixels, for the numbers of an axis and its name below them
const MOST_ROWS = 200; // of the table below a chart

export function Chart({ title, headline, words, plot, inputs, table, children, legend }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);
  const near = useNear(frame);
  useEffect(() => {
    if (width > 0 && near) frame.current!.replaceChildren(drawn(plot(width), title, words));
  }, [width, near, ...inputs]);
  return (
    <section class="chart">
      <h2>{title}</h2>
      <p class="headline">{headline}</p>
      {children}
      <p class="words hidden">{words}</p>
      {legend && (
        <ul class="legend" aria-hidden="true">
          {legend.map(({ label, color }) => (
            <li key={label}>
              <svg width="10" height="10">
                <circle cx="5" cy="5" r="5" fill={color} />
              </svg>
              {label}
            </li>
          ))}
        </ul>
      )}
      <div class="plot-frame" ref={frame} />
      <details class="as-table" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>As a table</summary>
        {open && <Rows title={title} table={table} />}
      </details>
    </section>
  );
}

/** Whether an element is on the screen, was there, or is to be printed: before that it need not be drawn. */
function useNear(element: { readonly current: Element | null }): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const come = () => setNear(true);
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && come());
    observer.observe(element.current!);
    addEventListener("beforeprint", come);
    return () => {
      observer.disconnect();
      removeEventListener("beforeprint", come);
    };
  }, []);
  return near;
}

/** The figures of a chart as a table: made when it is opened, because it is larger than the chart. */
function Rows({ title, table }: Pick<ChartProps, "title" | "table">) {
  const rows = table.rows();
  return (
    <>
      <PlainTable label={`${title}, as a table`} headings={table.headings} rows={rows.slice(0, MOST_ROWS)} />
      {rows.length > MOST_ROWS && <p class="hint">and {rows.length - MOST_ROWS} more</p>}
    </>
  );
}

/** Plot's own style element is left out: the policy forbids it, and page.css has the rules. */
function drawn(options: Plot.PlotOptions, title: string, words: string): Element {
  const figure = Plot.plot({ className: "plot", marginBottom: MARGIN, ...options, ariaLabel: title, ariaDescription: words });
  figure.querySelectorAll("style").forEach((style) => style.remove());
  // it is one picture: its groups have no role, and so must have no label
  figure.querySelectorAll("[aria-label]").forEach((group) => group.removeAttribute("aria-label"));
  figure.setAttribute("role", "img");
  return figure;
}

const COLORS = 10;

/** Colour number `position`, from page.css: one for light and one for dark. */
export function color(position: number): string {
  return `var(--series-${(position % COLORS) + 1})`;
}

/** The legend of series that have the colours in order. */
export function legendOf(labels: string[]): { label: string; color: string }[] {
  return labels.map((label, position) => ({ label, color: color(position) }));
}

/** The box that tells what a dot is. */
export const TIP = { fill: "var(--paper)", stroke: "var(--line)" };
