/** What owning costs: the formulas of hwprices.formulas, which docs/method.md explains. */

import { PERIODS } from "./prices";
import type { Ownership } from "./release";

const HOURS_PER_YEAR = PERIODS.year.hours;

/** Hours that a machine works in its life. */
export function hoursOfUse({ lifetime_years: years, utilisation }: Ownership): number {
  return years * HOURS_PER_YEAR * utilisation;
}

export interface Machine {
  /** USD. */
  price: number;
  /** At full load. */
  watts: number;
}

/** USD for one hour of use: the price spread over the hours of use, and the electricity of one. */
export function ownedPerHour({ price, watts }: Machine, ownership: Ownership): number {
  const { usd_per_kwh: tariff, pue } = ownership;
  return price / hoursOfUse(ownership) + (watts / 1000) * pue * tariff;
}

/** The share of all hours from which owning costs less than renting at that price; null for never. */
export function breakEvenUse({ price, watts }: Machine, ownership: Ownership, rented: number): number | null {
  const saved = rented - (watts / 1000) * ownership.pue * ownership.usd_per_kwh;
  return saved > 0 ? price / (saved * ownership.lifetime_years * HOURS_PER_YEAR) : null;
}
