/** The view of charts. */

import type { ViewProps } from "./app";
import { HistoryChart } from "./charts/history";
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
      {props.release.history && <HistoryChart {...props} history={props.release.history} />}
    </section>
  );
}
