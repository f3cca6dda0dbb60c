/** The overview: state, problems, figures, connections and application. @module */
import { computed } from "@preact/signals";
import type { JSX } from "preact";
import type { FiguresView } from "../../shared/figure-views.ts";
import type { QuestionsView } from "../../shared/question-views.ts";
import type { ConnectionsView, StatusView } from "../../shared/views.ts";
import { later } from "../live/later.ts";
import { Part } from "../live/part.tsx";
import { useResource } from "../live/resource.ts";
import { PageHead } from "../parts/states.tsx";
import { useGuide } from "./guide-steps.ts";
import { useFindings } from "./findings.ts";
import { WaitingQuestions } from "./waiting.tsx";
import { StateCard } from "./state-card.tsx";
import { Tiles } from "./tiles.tsx";

export interface OverviewData {
  readonly status: StatusView;
  readonly figures: FiguresView;
  /** False if this browser has dismissed the guide of a first visit. */
  readonly guide?: boolean;
  /** The open questions; undefined without channels. */
  readonly questions?: QuestionsView;
  /** Undefined without a channel. */
  readonly connections: ConnectionsView | undefined;
}

/** Cards whose code loads after the page. */
export const cardsPart = later(() => import("./cards.ts"));

const cards = {
  application: { module: computed(() => cardsPart.module.value?.ApplicationCard) },
  attention: { module: computed(() => cardsPart.module.value?.Attention) },
  connections: { module: computed(() => cardsPart.module.value?.ConnectionsCard) },
  guide: { module: computed(() => cardsPart.module.value?.Guide) },
  nodes: { module: computed(() => cardsPart.module.value?.NodesCard) },
  traffic: { module: computed(() => cardsPart.module.value?.Traffic) },
};

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
  const { program, channel, refusals, now, store } = status;
  const nodes = store?.nodes;
  const findings = useFindings(status);
  const guide = useGuide(status, data.guide !== false);
  const failedSignIns = refusals.reduce((sum, { times }) => sum + times, 0);
  return (
    <div class="page-in">
      <PageHead title="Overview" />
      {data.questions && <WaitingQuestions first={data.questions} now={now} />}
      {guide && <Part of={cards.guide} props={{ guide, refresh }} />}
      <StateCard
        status={status}
        problems={findings.items.length}
        refresh={refresh}
        isGuided={guide !== undefined}
      />
      {findings.items.length > 0 && <Part of={cards.attention} props={{ findings, now }} />}
      <Tiles figures={figures.value.value} channel={channel} failedSignIns={failedSignIns} />
      {program && <Part of={cards.application} props={{ program }} />}
      <Part of={cards.traffic} props={{ figures: figures.value.value }} />
      {data.connections && <NewestConnections first={data.connections} now={now} />}
      {nodes && <Part of={cards.nodes} props={{ nodes, now }} />}
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
  return <Part of={cards.connections} props={{ view: value.value, now }} />;
}
