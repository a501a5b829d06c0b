/** A map of the regions: a click filters the offers by the regions of a place. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { Found } from "../filter";
import { integer } from "../format";
import type { Release } from "../release";
import { list, listText } from "../state";
import { LAND, STEP } from "./land";
import { placesOf, unplaced, type Place } from "./places";

/** Degrees that the map shows. */
const [WEST, EAST, NORTH, SOUTH] = [-170, 190, 78, -56];
const [SMALLEST, LARGEST] = [1.3, 3.4]; // degrees: radius of a place, by how many offers it has

interface MapProps {
  release: Release;
  parameters: Record<string, string>;
  found: Found;
  set: (changes: Record<string, string>) => void;
}

interface Marker {
  place: Place;
  names: string[];
  offers: number;
  /** How many of its regions are chosen. */
  chosen: "none" | "some" | "all";
}

const CHECKED = { none: "false", some: "mixed", all: "true" } as const;

export function RegionMap({ release, parameters, found, set }: MapProps) {
  const places = useMemo(() => placesOf(release), [release]);
  const without = useMemo(() => unplaced(release), [release]);
  const [pointed, point] = useState<number | null>(null);
  const [current, setCurrent] = useState(0);
  const frame = useRef<SVGSVGElement>(null);
  const chosen = list(parameters.region);
  const markers = places.map((place) => marker(release, place, found, chosen));
  const most = Math.max(1, ...markers.map(({ offers }) => offers));
  const toggle = ({ names, chosen: how }: Marker) => {
    const others = chosen.filter((name) => !names.includes(name));
    set({ region: listText(how === "all" ? others : [...others, ...names]) });
  };
  const press = (event: KeyboardEvent, position: number) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = (position + step + markers.length) % markers.length;
      setCurrent(next);
      frame.current!.querySelectorAll<SVGElement>("[role=checkbox]")[next]!.focus();
    } else if (event.key === " " || event.key === "Enter") toggle(markers[position]!);
    else return;
    event.preventDefault();
  };
  return (
    <section class="map" aria-label="Map of the regions">
      <div class="map-frame">
        <svg
          ref={frame}
          viewBox={`${WEST} ${-NORTH} ${EAST - WEST} ${NORTH - SOUTH}`}
          role="group"
          aria-label="Regions from west to east; arrow keys go from one to the next, space chooses"
        >
          <path class="land" d={LAND} transform={`scale(${STEP})`} />
          {markers.map((marker, position) => (
            <circle
              key={position}
              cx={marker.place.longitude}
              cy={-marker.place.latitude}
              r={marker.offers === 0 ? SMALLEST : SMALLEST + (LARGEST - SMALLEST) * Math.sqrt(marker.offers / most)}
              class={marker.offers === 0 && marker.chosen === "none" ? "nothing" : undefined}
              role="checkbox"
              aria-checked={CHECKED[marker.chosen]}
              aria-label={title(release, marker)}
              tabIndex={position === Math.min(current, markers.length - 1) ? 0 : -1}
              onClick={() => toggle(marker)}
              onKeyDown={(event) => press(event, position)}
              onPointerEnter={() => point(position)}
              onPointerLeave={() => point(null)}
              onFocus={() => point(position)}
              onBlur={() => point(null)}
            />
          ))}
        </svg>
        {pointed !== null && markers[pointed] && <Tip release={release} marker={markers[pointed]} />}
      </div>
      <p class="hint">
        A click chooses the regions of a place; the list of regions among the filters does the same.
        {without.length > 0 && ` Without a place, because the provider names none: ${without.slice(0, 8).join(", ")}${without.length > 8 ? " …" : "."}`}{" "}
        Land: Natural Earth.
      </p>
    </section>
  );
}

function marker(release: Release, place: Place, found: Found, chosen: string[]): Marker {
  const column = release.offers.column("region");
  const counts = found.counts.get("region")!;
  const names = [...new Set(place.regions.map(({ region }) => region))];
  const offers = names.reduce((sum, name) => sum + counts[column.code(name)]!, 0);
  const picked = names.filter((name) => chosen.includes(name)).length;
  return { place, names, offers, chosen: picked === 0 ? "none" : picked === names.length ? "all" : "some" };
}

function title(release: Release, { place, offers }: Marker): string {
  const regions = place.regions.map(({ provider, region }) => `${release.providerTitle(provider)} ${region}`);
  return `${city(place)}: ${integer(offers)} offers, ${regions.join(", ")}`;
}

/** The shortest name that a vendor gives the place: in brackets, if it has brackets. */
function city({ regions }: Place): string {
  const names = regions.map(({ display_name: name, region }) => /\(([^)]+)\)/.exec(name ?? "")?.[1] ?? name ?? region);
  const country = regions.find((region) => region.country)?.country;
  const shortest = names.sort((one, other) => one.length - other.length)[0]!;
  return country ? `${shortest}, ${country}` : shortest;
}

function Tip({ release, marker }: { release: Release; marker: Marker }) {
  const { latitude, longitude, regions } = marker.place;
  const left = (longitude - WEST) / (EAST - WEST);
  const top = (NORTH - latitude) / (NORTH - SOUTH);
  const style = {
    left: `${left * 100}%`,
    top: `${top * 100}%`,
    translate: `${left > 0.7 ? "calc(-100% - 0.8rem)" : "0.8rem"} ${top > 0.6 ? "-100%" : "0"}`,
  };
  return (
    <div class="tip" style={style} aria-hidden="true">
      <b>{city(marker.place)}</b>
      <span>{integer(marker.offers)} offers</span>
      {regions.map(({ provider, region }) => (
        <span key={`${provider} ${region}`} class="muted">
          {release.providerTitle(provider)} {region}
        </span>
      ))}
    </div>
  );
}
