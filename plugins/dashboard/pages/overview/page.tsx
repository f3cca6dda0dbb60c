/** The overview: state, problems, figures, connections and application. @module */
import type * as overviewCards from "./cards.tsx";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { FiguresView } from "../../shared/figure-views.ts";
import type { QuestionsView } from "../../shared/question-views.ts";
import type { ConnectionsView, StatusView } from "../../shared/views.ts";
import { onDemand } from "../live/on-demand.ts";
import { useResource } from "../live/resource.ts";
import { PageHead } from "../parts/states.tsx";
import { useGuide } from "./guide-steps.ts";
import { useFindings } from "./findings.ts";
import { StateCard } from "./state-card.tsx";
import { Tiles } from "./tiles.tsx";
import { LinkButton } from "../parts/button.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";

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

type Cards = typeof overviewCards;

const useCards = onDemand(() => import("./cards.tsx"));

const isTakenOver = (): boolean =>
  typeof document !== "undefined" && "ready" in document.documentElement.dataset;

/**
 * The place of a card whose code loads after the page. Until then, the elements of the server stay:
 * while Preact takes over a document, it does not touch the content of an element with `__html`.
 * A card that appears later has no such elements, and the browser would reject `__html`.
 */
function Later({ children }: { readonly children: JSX.Element | undefined }): JSX.Element | null {
  const [isNew] = useState(isTakenOver);
  if (!children && isNew) return null;
  // oxlint-disable-next-line react/no-danger -- without content, nothing is parsed
  if (!children) return <div class="part" key="server" dangerouslySetInnerHTML={{ __html: "" }} />;
  return (
    <div class="part" key="browser">
      {children}
    </div>
  );
}

const figuresIntervalMs = 5000;

interface OverviewProps {
  readonly data: OverviewData;
  /** The server has them. */
  readonly cards?: Cards;
}

export function OverviewPage({ data, cards: given }: OverviewProps): JSX.Element {
  const loaded = useCards(given === undefined);
  const cards = given ?? loaded;
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
      "application",
      "settings",
    ],
  });
  const figures = useResource("/api/figures", data.figures, {
    refreshOn: ["rate", "connected", "refused"],
    minIntervalMs: figuresIntervalMs,
  });
  const status = value.value;
  const { program, application, channel, otherChannels, refusals, now, store } = status;
  const nodes = store?.nodes;
  const findings = useFindings(status);
  const guide = useGuide(status, data.guide !== false);
  const failedSignIns = refusals.reduce((sum, { times }) => sum + times, 0);
  return (
    <div class="page-in">
      <PageHead title="Overview" />
      {data.questions && <WaitingQuestions first={data.questions} now={now} />}
      {guide && <Later>{cards && <cards.Guide guide={guide} refresh={refresh} />}</Later>}
      <StateCard
        status={status}
        problems={findings.items.length}
        refresh={refresh}
        isGuided={guide !== undefined}
      />
      {findings.items.length > 0 && (
        <Later>{cards && <cards.Attention findings={findings} now={now} />}</Later>
      )}
      <Tiles figures={figures.value.value} channel={channel} failedSignIns={failedSignIns} />
      {program ? (
        <Later>
          {cards && <cards.ApplicationCard program={program} application={application} />}
        </Later>
      ) : (
        application && <Later>{cards && <cards.StatusCard application={application} />}</Later>
      )}
      <Later>{cards && <cards.Traffic figures={figures.value.value} />}</Later>
      {data.connections && <NewestConnections cards={cards} first={data.connections} now={now} />}
      {otherChannels && <Later>{cards && <cards.OtherChannels channels={otherChannels} />}</Later>}
      {nodes && <Later>{cards && <cards.NodesCard nodes={nodes} now={now} />}</Later>}
    </div>
  );
}

interface NewestProps {
  readonly cards: Cards | undefined;
  readonly first: ConnectionsView;
  readonly now: number;
}

function NewestConnections({ cards, first, now }: NewestProps): JSX.Element {
  const { value } = useResource("/api/connections?newest=1&limit=4", first, {
    refreshOn: ["connected", "disconnected"],
  });
  return <Later>{cards && <cards.ConnectionsCard view={value.value} now={now} />}</Later>;
}

/** The content is not in sight here, so the action is to open the question, never to allow it. */
function WaitingQuestions({ first, now }: { first: QuestionsView; now: number }) {
  const { url } = useSite();
  const { value } = useResource("/api/questions", first, {
    refreshOn: ["questions"],
  });
  const { questions } = value.value;
  if (questions.length === 0) return null;
  return (
    <section class="card waiting" aria-label="Waiting for you">
      <h2>Waiting for you</h2>
      <ul>
        {questions.map(({ id, session, label, at }) => (
          <li key={id} class="row wrap">
            <div class="grow">
              <b dir="auto">{label}</b>
              <p>
                {session}, <Ago at={at} now={now} />
              </p>
            </div>
            <LinkButton
              kind="primary"
              href={url(`/ask/${encodeURIComponent(session)}/${encodeURIComponent(id)}`)}
              aria-label={`Answer ${label}`}
            >
              Answer
            </LinkButton>
          </li>
        ))}
      </ul>
    </section>
  );
}
