/** What is shown, kept in the address after #, so that a view can be sent to somebody. */

export type View = "offers" | "compare" | "machine" | "accelerators" | "charts" | "release";
export const VIEWS: readonly View[] = ["offers", "compare", "machine", "accelerators", "charts", "release"];

export interface State {
  view: View;
  parameters: Record<string, string>;
}

export function parse(hash: string): State {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const view = VIEWS.find((name) => name === path) ?? "offers";
  return { view, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

export function format(state: State): string {
  const used = Object.entries(state.parameters).filter(([, value]) => value !== "");
  const query = new URLSearchParams(used).toString();
  return `#${state.view}${query ? `?${query}` : ""}`;
}

/** A list in one parameter; a comma inside a value is escaped. */
export function list(text: string | undefined): string[] {
  if (!text) return [];
  return text.split(",").map((item) => item.replaceAll("%2C", ","));
}

export function listText(items: readonly string[]): string {
  return items.map((item) => item.replaceAll(",", "%2C")).join(",");
}

export interface Range {
  low: number | null;
  high: number | null;
}

/** A range is written low..high, and either end may be missing or not a number. */
export function range(text: string | undefined): Range {
  const [low = "", high = ""] = (text ?? "").split("..");
  return { low: finite(low), high: finite(high) };
}

export function rangeText({ low, high }: Range): string {
  return low === null && high === null ? "" : `${low ?? ""}..${high ?? ""}`;
}

/** The last parameters of each view, so that coming back to it finds it as it was left. */
const left = new Map<View, Record<string, string>>();

export function remember({ view, parameters }: State): void {
  left.set(view, parameters);
}

/** The address of a view as it was left, with these changes. */
export function addressOf(view: View, changes: Record<string, string> = {}): string {
  return format({ view, parameters: { ...left.get(view), ...changes } });
}

function finite(text: string): number | null {
  const value = text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}
