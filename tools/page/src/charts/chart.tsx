/** A chart with what it shows in words, and the same figures as a table. */

import * as Plot from "@observablehq/plot";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface ChartProps {
  title: string;
  /** What the chart shows, in one or two sentences: for everybody, and instead of it for some. */
  words: string;
  plot: (width: number) => Plot.PlotOptions;
  /** What the plot is made from: it is drawn anew when one of these changes. */
  inputs: readonly unknown[];
  table: { headings: string[]; rows: (string | number)[][] };
  children?: ComponentChildren;
  legend?: { label: string; color: string }[];
}

const MOST_ROWS = 200; // of the table below a chart

export function Chart({ title, words, plot, inputs, table, children, legend }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) frame.current!.replaceChildren(drawn(plot(width), title, words));
  }, [width, ...inputs]);
  return (
    <section class="chart">
      <h2>{title}</h2>
      {children}
      <p class="words">{words}</p>
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
      <details class="as-table">
        <summary>As a table</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={`${title}, as a table, scrollable`}>
          <table class="plain-table">
            <thead>
              <tr>
                {table.headings.map((heading) => (
                  <th key={heading}>{heading}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {table.rows.slice(0, MOST_ROWS).map((row, position) => (
                <tr key={position}>
                  {row.map((value, column) => (
                    <td key={column} class={typeof value === "number" ? "figure" : undefined}>
                      {value}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {table.rows.length > MOST_ROWS && <p class="hint">and {table.rows.length - MOST_ROWS} more</p>}
        </div>
      </details>
    </section>
  );
}

/** Plot's own style element is left out: the policy forbids it, and page.css has the rules. */
function drawn(options: Plot.PlotOptions, title: string, words: string): Element {
  const figure = Plot.plot({ className: "plot", ...options, ariaLabel: title, ariaDescription: words });
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
