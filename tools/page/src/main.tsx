/** Opens the figures and draws the page. */

import { render } from "preact";
import { App } from "./app";
import { unpack } from "./payload";
import { Release, type Facts } from "./release";

async function start(): Promise<void> {
  const data = document.getElementById("data")!;
  const { facts, tables } = await unpack(data.textContent ?? "");
  data.remove();
  const release = new Release(facts as Facts, tables);
  const page = document.getElementById("page")!;
  page.replaceChildren();
  render(<App release={release} />, page);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start().catch((error: unknown) => {
  const page = document.getElementById("page")!;
  page.textContent = `This page could not be opened: ${String(error)}. It needs a browser of 2024 or newer.`;
  throw error;
});
