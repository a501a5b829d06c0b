/** Where regions are: those of one city are one place on the map. */

import type { Release } from "../release";

export interface Region {
  provider: string;
  region: string;
  display_name?: string;
  country?: string;
  latitude: number;
  longitude: number;
}

export interface Place {
  latitude: number;
  longitude: number;
  regions: Region[];
}

const SAME_PLACE = 1.2; // degrees: regions of one city, whose positions vendors give a little apart

/** The places of the regions that have offers, from west to east. */
export function placesOf(release: Release): Place[] {
  const sold = new Set(release.offers.column("region").values.map(String));
  const places: Place[] = [];
  for (const region of release.facts.regions) {
    if (!sold.has(region.region)) continue;
    const place = places.find((candidate) => distance(candidate, region) < SAME_PLACE);
    if (place) place.regions.push(region);
    else places.push({ latitude: region.latitude, longitude: region.longitude, regions: [region] });
  }
  return places.sort((one, other) => one.longitude - other.longitude);
}

function distance(place: Place, region: Region): number {
  return Math.max(Math.abs(place.latitude - region.latitude), Math.abs(place.longitude - region.longitude));
}

/** Names of regions that have offers and no position, such as "global". */
export function unplaced(release: Release): string[] {
  const placed = new Set(release.facts.regions.map(({ region }) => region));
  return release.offers.column("region").values.map(String).filter((name) => !placed.has(name));
}
