/** The overview: state, what needs attention, figures, connections and application. @module */
import type { JSX } from "preact";
import type { StatusView } from "../../api/views.ts";
import { useResource } from "../live/resource.ts";
import { PageHead } from "../parts/states.tsx";
import { Attention } from "./attention.tsx";
import { StateCard } from "./state-card.tsx";
import { Tiles } from "./tiles.tsx";

export interface OverviewData {
  readonly status: StatusView;
}

export function OverviewPage({ data }: { readonly data: OverviewData }): JSX.Element {
  const { value } = useResource("/api/status", data.status, {
    refreshOn: [
      "state",
      "rate",
      "connected",
      "disconnected",
      "signed-in",
      "sign-in-refused",
      "refused",
      "token",
      "program",
      "settings",
    ],
  });
  const status = value.value;
  return (
    <div class="page-in">
      <PageHead title="Overview" />
      <StateCard status={status} />
      <Attention status={status} />
      <Tiles status={status} />
    </div>
  );
}
