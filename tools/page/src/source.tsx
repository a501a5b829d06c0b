/** A figure that says, on a click, where it comes from. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Source {
  title: string;
  value: string;
  /** The figure in a table, where its unit is elsewhere. */
  shown?: string;
  lines: { term: string; text: string; href?: string }[];
}

export interface SourceDialog {
  show: (source: Source) => void;
  dialog: ComponentChildren;
}

/** One dialog for all figures of a view. */
export function useSource(): SourceDialog {
  const [source, show] = useState<Source | null>(null);
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (source) element.current?.showModal();
  }, [source]);
  const dialog = (
    <dialog
      ref={element}
      class="source"
      aria-label="Where this figure comes from"
      onClose={() => show(null)}
      onClick={(event) => event.target === element.current && element.current?.close()}
    >
      {source && (
        <article>
          <header>
            <h2>{source.title}</h2>
            <p class="lead">{source.value}</p>
            <button type="button" class="close" aria-label="Close" onClick={() => element.current?.close()}>
              ×
            </button>
          </header>
          <dl class="lines">
            {source.lines.map(({ term, text, href }) => (
              <div key={term}>
                <dt>{term}</dt>
                <dd>{href ? <a href={href}>{text}</a> : text}</dd>
              </div>
            ))}
          </dl>
        </article>
      )}
    </dialog>
  );
  return { show, dialog };
}

/** Only web addresses become links: a sheet may hold any text as a source. */
export function sourceLine(term: string, text: string): Source["lines"][number] {
  return /^https?:\/\//.test(text) ? { term, text, href: text } : { term, text };
}

export function Figure({ source, show }: { source: Source; show: (source: Source) => void }) {
  return (
    <button type="button" class="figure-button" title="Where does this come from?" onClick={() => show(source)}>
      {source.shown ?? source.value}
    </button>
  );
}
