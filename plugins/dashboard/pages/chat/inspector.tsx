/** The panel that shows one request: its times and its frames. @module */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RequestsView, RequestView } from "../../shared/conversation-views.ts";
import { load } from "../live/owner.ts";
import { IconButton, LinkButton } from "../parts/button.tsx";
import { Code } from "../parts/code.tsx";
import { download } from "../parts/download.ts";
import { Icon } from "../parts/icon.tsx";
import { Segment } from "../parts/segment.tsx";
import { Empty } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { formatBytes, formatCount } from "../../shared/format.ts";
import { formatMs } from "./dates.ts";
import { useFrameValue } from "./frames.ts";
import { createGrouper, type Answer } from "./state/groups.ts";
import { recorder, type RecordedFrame, type RecordedRequest } from "./state/recorder.ts";
import type { ShownConversation } from "./state/store.ts";
import { describeRequest, type Timeline, type TimelineEntry } from "./timeline.ts";

const views = [
  { value: "timeline", name: "Timeline", icon: "list-filter" },
  { value: "frames", name: "Raw frames", icon: "braces" },
] as const;

export function Inspector({ store, conversation }: ShownConversation): JSX.Element {
  const thread = useFrameValue(conversation.thread);
  const group = useMemo(createGrouper, [conversation]);
  const [view, setView] = useState<(typeof views)[number]["value"]>("timeline");
  const answers = group(thread).filter((row): row is Answer => row.kind === "answer");
  const wanted = store.inspected.value || recorder.newest(conversation.session)?.id;
  const id = wanted ?? answers.at(-1)?.requestId;
  const request = id === undefined ? undefined : recorder.find(id);
  const answer = answers.find((one) => one.requestId === id);
  const times = useTimes(conversation.session, id, answer?.run?.endedAt);
  const timeline = describeRequest(request, answer, times);
  const close = (): void => store.inspect(undefined);
  return (
    <aside class="inspector" aria-label="Request inspector">
      <header>
        <h2 class="grow cut">Request {id !== undefined && <code>{id.slice(-12)}</code>}</h2>
        {id !== undefined && (request ?? times) && (
          <IconButton
            icon="download"
            label="Export as JSON"
            onClick={() => exportRequest(id, request, times)}
          />
        )}
        <IconButton icon="x" label="Close inspector" onClick={close} />
      </header>
      <div class="scroll" tabIndex={0} role="group" aria-label="Request">
        {id === undefined ? (
          <Empty icon="braces" title="No requests yet">
            Send a message to see its times and frames.
          </Empty>
        ) : (
          <>
            <Facts timeline={timeline} />
            <Segment label="View" value={view} options={views} onChange={setView} />
            {view === "timeline" ? (
              <>
                <ol class="fall">
                  {timeline.entries.map((entry) => (
                    <Bar key={entry.key} entry={entry} total={Math.max(1, timeline.total ?? 1)} />
                  ))}
                </ol>
                <Origin {...{ store, conversation, answer, id }} />
              </>
            ) : (
              <Frames request={request} />
            )}
          </>
        )}
      </div>
    </aside>
  );
}

/** The times of the server. They are loaded when the request is opened, and at its end. */
function useTimes(session: string, id: string | undefined, endedAt: number | undefined) {
  const [found, setFound] = useState<RequestView>();
  useEffect(() => {
    if (id === undefined) return;
    // The page does not know the session of another channel.
    const query = new URLSearchParams({ ...(session !== "" && { session }), id });
    void load<RequestsView>(`/api/requests?${query}`, ({ requests }) => setFound(requests[0]));
  }, [session, id, endedAt]);
  return found?.id === id ? found : undefined;
}

function exportRequest(
  id: string,
  request: RecordedRequest | undefined,
  times: RequestView | undefined,
): void {
  const frames = request?.frames.map((frame) => ({ ...frame, frame: parseFrame(frame.text) }));
  const text = JSON.stringify({ id, times, ...request, frames }, undefined, 2);
  download(`request-${id}.json`, text, "application/json");
}

/** Text that is not JSON, because it was cut, stays text. */
function parseFrame(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const orDash = (ms: number | undefined): string => (ms === undefined ? "–" : formatMs(ms));

function Facts({ timeline: { total, firstText, tokens } }: { readonly timeline: Timeline }) {
  const facts = [
    ["Total", orDash(total)],
    ["First text", orDash(firstText)],
    ["Tokens", tokens === undefined ? "–" : formatCount(tokens)],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Bar({ entry, total }: { readonly entry: TimelineEntry; readonly total: number }) {
  const { icon, name, isCode, from, ms, series, key } = entry;
  const width = 1_000;
  const show = (): void => document.getElementById(`m-${key}`)?.scrollIntoView({ block: "center" });
  return (
    <li onClick={show}>
      <Icon name={icon} />
      <span class="cut">{isCode ? <code>{name}</code> : name}</span>
      <span class="ms num">{formatMs(ms)}</span>
      <svg class="span" viewBox={`0 0 ${width} 6`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="bg" width={width} height="6" rx="3" />
        <rect
          class={series}
          x={Math.min(width - 8, (from / total) * width)}
          width={Math.max(8, (ms / total) * width)}
          height="6"
          rx="3"
        />
      </svg>
    </li>
  );
}

interface OriginProps extends ShownConversation {
  readonly answer: Answer | undefined;
  readonly id: string;
}

const outcomes: Readonly<Record<Answer["state"], string>> = {
  working: "Being answered",
  done: "Answered",
  stopped: "Stopped",
  failed: "Failed",
  incomplete: "Incomplete",
};

function Origin({ store, conversation, answer, id }: OriginProps): JSX.Element {
  const { url } = useSite();
  const log = `/activity?${new URLSearchParams({ q: `request:${id}` })}`;
  return (
    <>
      <dl class="kv">
        <dt>Conversation</dt>
        <dd>{conversation.session}</dd>
        <dt>Application</dt>
        <dd>{store.name}</dd>
        {answer && (
          <>
            <dt>Result</dt>
            <dd>{outcomes[answer.state]}</dd>
          </>
        )}
      </dl>
      <LinkButton compact icon="scroll-text" href={url(log)}>
        Show in activity
      </LinkButton>
    </>
  );
}

function Frames({ request }: { readonly request: RecordedRequest | undefined }): JSX.Element {
  if (!request) {
    return (
      <p class="muted">
        Frames are recorded while this page is open. This request was made before.
      </p>
    );
  }
  const startedAt = request.frames[0]?.at ?? 0;
  return (
    <div class="frames">
      {request.frames.map((frame, at) => (
        <FrameView key={at} frame={frame} ms={frame.at - startedAt} />
      ))}
      {request.dropped > 0 && (
        <p class="muted">{formatCount(request.dropped)} frames in the middle were left out.</p>
      )}
    </div>
  );
}

function FrameView({ frame, ms }: { readonly frame: RecordedFrame; readonly ms: number }) {
  const [isOpen, setOpen] = useState(false);
  const { direction, type, bytes, text } = frame;
  const isOut = direction === "out";
  const word = isOut ? "Sent" : "Received";
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <Icon name={isOut ? "arrow-up-right" : "arrow-down-left"} small tone={direction} />
        <span class="unseen">{word}</span>
        <span class="grow cut">{type}</span>
        <span class="muted num">{formatBytes(bytes)}</span>
        <span class="muted num">{formatMs(ms)}</span>
      </summary>
      {isOpen && <Code language="json" title="Frame" text={formatFrame(text)} />}
    </details>
  );
}

function formatFrame(text: string): string {
  const frame = parseFrame(text);
  return typeof frame === "string" ? frame : JSON.stringify(frame, undefined, 2);
}
