/** The overview: state, problems, figures, connections and application. @module */
import type { JSX } from "preact";
import type { FiguresView } from "../../api/figure-views.ts";
import type { ConnectionsView, StatusView } from "../../api/views.ts";
import { later } from "../live/later.ts";
import { useResource } from "../live/resource.ts";
import { PageHead } from "../parts/states.tsx";
import { ApplicationCard } from "./application-card.tsx";
import { Attention, useFindings } from "./attention.tsx";
import { ConnectionsCard } from "./connections-card.tsx";
import { StateCard } from "./state-card.tsx";
import { Tiles } from "./tiles.tsx";
import { Traffic } from "./traffic.tsx";

export interface OverviewData {
  readonly status: StatusView;
  readonly figures: FiguresView;
  /** Undefined without a channel. */
  readonly connections: ConnectionsView | undefined;
}

/** Only services with a shared store have nodes. */
const nodesCard = later(() => import("./nodes-card.tsx"));

const figuresIntervalMs = 5000;

export function OverviewPage({ data }: { readonly data: OverviewData }): JSX.Element {
  const { value, refresh } = useResource("/api/status", data.status, {
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
  const figures = useResource("/api/figures", data.figures, {
    refreshOn: ["rate", "connected", "refused"],
    minIntervalMs: figuresIntervalMs,
  });
  const status = value.value;
  const { program, channel, refusals, now } = status;
  const findings = useFindings(status);
  const loaded = nodesCard.module.value;
  const failedSignIns = refusals.reduce((sum, { times }) => sum + times, 0);
  return (
    <div class="page-in">
      <PageHead title="Overview" />
      <StateCard status={status} problems={findings.items.length} refresh={refresh} />
      <Attention findings={findings} now={now} />
      <Tiles figures={figures.value.value} channel={channel} failedSignIns={failedSignIns} />
      <Traffic figures={figures.value.value} />
      <div class={program ? "cols" : "stack"}>
        {data.connections && <NewestConnections first={data.connections} now={now} />}
        {program && <ApplicationCard program={program} />}
      </div>
      {status.store?.nodes && loaded && <loaded.NodesCard nodes={status.store.nodes} now={now} />}
    </div>
  );
}

interface NewestProps {
  readonly first: ConnectionsView;
  readonly now: number;
}

function NewestConnections({ first, now }: NewestProps): JSX.Element {
  const { value } = useResource("/api/connections?newest=1&limit=4", first, {
    refreshOn: ["connected", "disconnected"],
  });
  return <ConnectionsCard view={value.value} now={now} />;
}
