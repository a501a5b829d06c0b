/** The view of charts. */

import type { ViewProps } from "./app";
import { OwnChart } from "./charts/own";
import { RentChart } from "./charts/rent";
import { SpotChart } from "./charts/spot";
import { ValueChart } from "./charts/value";

export function Charts(props: ViewProps) {
  return (
    <section class="charts">
      <h1 class="hidden">Charts</h1>
      <RentChart {...props} />
      <ValueChart {...props} />
      <SpotChart {...props} />
      <OwnChart {...props} />
    </section>
  );
}
