/** The frame of the page: heading, views, and what the address has. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { Accelerators } from "./accelerators";
import { Charts } from "./charts";
import { Compare } from "./compare";
import { day } from "./format";
import { Offers } from "./offers";
import { About } from "./about";
import { WhichMachine } from "./answers";
import type { Release } from "./release";
import { addressOf, format, parse, remember, type State, type View } from "./state";

const TITLES: Record<View, string> = {
  offers: "Offers",
  compare: "Compare",
  machine: "Recommend",
  accelerators: "Accelerators",
  charts: "Charts",
  release: "Release",
};

export interface ViewProps {
  release: Release;
  parameters: Record<string, string>;
  /** Changes parameters of the view. With `push` the browser's Back undoes it. */
  change: (changes: Record<string, string>, push?: boolean) => void;
}

export function App({ release }: { release: Release }) {
  const [state, setState] = useState<State>(() => parse(location.hash));

  useEffect(() => {
    const follow = () => setState(parse(location.hash));
    addEventListener("hashchange", follow);
    addEventListener("popstate", follow);
    return () => {
      removeEventListener("hashchange", follow);
      removeEventListener("popstate", follow);
    };
  }, []);

  useEffect(() => remember(state), [state]);

  useEffect(() => {
    document.title = `${TITLES[state.view]} · hwprices ${release.facts.about.version}`;
  }, [state.view]);

  const change = useCallback((changes: Record<string, string>, push = false) => {
    const current = parse(location.hash);
    const next = { ...current, parameters: { ...current.parameters, ...changes } };
    if (push) history.pushState(null, "", format(next));
    else history.replaceState(null, "", format(next));
    setState(parse(location.hash));
  }, []);

  const props = { release, parameters: state.parameters, change };
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the figures
      </a>
      <Header release={release} view={state.view} />
      <main id="main" tabIndex={-1} class={`view-${state.view}`}>
        {state.view === "offers" && <Offers {...props} />}
        {state.view === "compare" && <Compare {...props} />}
        {state.view === "machine" && <WhichMachine {...props} />}
        {state.view === "accelerators" && <Accelerators {...props} />}
        {state.view === "charts" && <Charts {...props} />}
        {state.view === "release" && <About {...props} />}
      </main>
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  const main = document.getElementById("main");
  const figures = main?.querySelector<HTMLElement>(".scroll, .answer, .chart") ?? main;
  if (figures && figures.tabIndex < 0) figures.tabIndex = -1; // so that a script can focus it
  figures?.focus();
}

function Header({ release, view }: { release: Release; view: View }) {
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [view]);
  const { about } = release.facts;
  const tabs: View[] = ["offers", "machine", "accelerators", "charts", "release"];
  return (
    <header class="top">
      <p class="brand">
        <a href="#offers">
          <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
            <path d="M2 18V11h4v7zM8 18V6h4v12zM14 18V2h4v16z" />
          </svg>
          <b>hwprices</b> <span>what AI and cloud hardware costs</span>
        </a>
      </p>
      <button type="button" class="menu-button" aria-expanded={open} aria-controls="views" onClick={() => setOpen(!open)}>
        ☰ {TITLES[view]}
      </button>
      <nav id="views" class={open ? "open" : undefined} aria-label="Views">
        {tabs.map((name) => (
          <a
            key={name}
            href={name === view ? `#${name}` : addressOf(name)}
            aria-current={isCurrent(name, view) ? "page" : undefined}
            onClick={() => setOpen(false)}
          >
            {TITLES[name]}
          </a>
        ))}
      </nav>
      <p class="release">
        <a href="#release">
          {release.sampleOnly && <span class="badge">Sample</span>} {day(about.created_at)}
        </a>
      </p>
    </header>
  );
}

function isCurrent(tab: View, view: View): boolean {
  return tab === view || (tab === "offers" && view === "compare");
}
