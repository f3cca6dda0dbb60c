/** One row of a conversation: a message of a person, an answer, or a note. @module */
import type { ReadonlySignal } from "@preact/signals";
import { Component, type JSX } from "preact";
import { second, serverNow } from "../live/clock.ts";
import { onDemand } from "../live/on-demand.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { PlainText } from "../parts/drawn.tsx";
import { Icon } from "../parts/icon.tsx";
import { formatCount, relativeTime, timeOfDay } from "../../shared/format.ts";
import { Files } from "./files/file-view.tsx";
import { formatMs } from "./dates.ts";
import { Prose } from "./markdown/prose.tsx";
import { failureOf } from "./failures.ts";
import type { Conversation } from "./state/conversation.ts";
import type { Answer, Row } from "./state/groups.ts";
import type { ShownConversation } from "./state/store.ts";
import { canEdit, isLeft, type Delivery, type UserMessage } from "./state/thread.ts";
import { focusField, writingIn } from "./state/unsent.ts";
import { choose, type Versions } from "./state/versions.ts";
import { Steps, useDetails } from "./steps.tsx";
import { readToolCall } from "./tool-calls.ts";

/** The conversation of the rows. The object stays the same while it is open. */
export interface RowContext extends ShownConversation {
  /** Why no answer can grow at the moment; undefined if one can. */
  readonly pause: ReadonlySignal<Pause | undefined>;
}

/** The reason for which no answer can grow. */
type Pause = "connection" | "application";

interface RowProps {
  readonly row: Row;
  readonly isLast: boolean;
  /** Absent if the message has one version. */
  readonly versions?: Versions | undefined;
  /** Position of a message behind a running answer; 0 is the next one. */
  readonly queuePlace?: number | undefined;
  readonly context: RowContext;
}

interface RowState {
  /** True after its drawing has thrown an error. */
  readonly isFailed?: boolean;
}

/** Draws a row again only if it has changed: a conversation may have a thousand. */
export class RowView extends Component<RowProps, RowState> {
  static override getDerivedStateFromError(): RowState {
    return { isFailed: true };
  }

  override shouldComponentUpdate(next: RowProps, { isFailed }: RowState): boolean {
    if (isFailed !== this.state.isFailed) return true;
    const keys = Object.keys(next) as (keyof RowProps)[];
    return keys.some((key) => next[key] !== this.props[key]);
  }

  override render({ row, ...rest }: RowProps, { isFailed }: RowState): JSX.Element {
    if (isFailed) return <PlainRow row={row} />;
    switch (row.kind) {
      case "user":
        return <UserView message={row} {...rest} />;
      case "answer":
        return <AnswerView answer={row} {...rest} />;
      case "note":
        return <p class="note">{row.content}</p>;
    }
  }
}

/** The texts of a row whose drawing has failed. The other rows do not change. */
function PlainRow({ row }: { readonly row: Row }): JSX.Element {
  const texts = row.kind === "answer" ? textsOf(row) : [row.content];
  return (
    <article class={`msg${row.kind === "user" ? " mine" : ""}`}>
      <div class="prose plain" dir="auto">
        <PlainText text={texts.join("\n\n")} />
      </div>
    </article>
  );
}

/** The words of the application: notices are left out. */
const textsOf = ({ segments }: Answer): readonly string[] =>
  segments.flatMap((segment) =>
    segment.kind === "text" && segment.message.kind !== "notice" ? [segment.message.content] : [],
  );

/** The exact time, with the distance as its tooltip. */
function Time({ at }: { readonly at: number }): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={relativeTime(at, serverNow())}>
      {timeOfDay(at)}
    </time>
  );
}

/** A failed message says so with a button, and a stopped one in its answer. */
const deliveries: Readonly<Partial<Record<Delivery, string>>> = {
  sending: "Sending…",
  waiting: "Waiting for connection…",
  received: "Sent",
  delivered: "Sent",
  rejected: "Sent",
};

/** A message of the history was sent. Other people know themselves what became of theirs. */
const receiptOf = ({ delivery = "delivered", sender }: UserMessage): string | undefined =>
  sender === undefined ? deliveries[delivery] : undefined;

type UserProps = Omit<RowProps, "row"> & { readonly message: UserMessage };

/** Takes a queued message back into the unsent one. */
async function takeBack(message: UserMessage, context: RowContext): Promise<void> {
  if (!(await context.conversation.takeBack(message))) return;
  writingIn(context).restore(message);
  focusField();
}

function UserView({ message, isLast, versions, queuePlace, context }: UserProps): JSX.Element {
  const { conversation } = context;
  const { at, content, files, sender, delivery, reason, requestId } = message;
  const isQueued = queuePlace !== undefined;
  const isEdited = writingIn(context).shown.replaced?.requestId === requestId;
  const receipt = isQueued || isEdited ? undefined : receiptOf(message);
  return (
    <article
      class={["msg mine", isLast && "last", isQueued && "queued", isEdited && "edited"]
        .filter(Boolean)
        .join(" ")}
      id={`m-${requestId}`}
      aria-label={`${sender ?? "You"} at ${timeOfDay(at)}`}
    >
      {sender !== undefined && (
        <div class="who">
          <b>{sender}</b>
        </div>
      )}
      <Files files={files} />
      {content !== "" && (
        <div class="bubble" dir="auto">
          <PlainText text={content} />
        </div>
      )}
      <div class="meta">
        <span class="acts">
          <CopyButton text={content} label="Copy message" icon />
          {!conversation.isReadOnly && canEdit(message) && (
            <IconButton
              icon="pencil"
              label="Edit and send again"
              compact
              onClick={() => writingIn(context).edit(message)}
            />
          )}
        </span>
        {versions && <VersionSwitch versions={versions} conversation={conversation} />}
        <Time at={at} />
        {isEdited && <span class="delivery">Being edited</span>}
        {receipt !== undefined && <span class="delivery">{receipt}</span>}
        {isQueued && (
          <>
            <span class="delivery">Queued</span>
            <Button icon="undo-2" compact onClick={() => takeBack(message, context)}>
              Take back
            </Button>
            {queuePlace === 0 && (
              <Button
                icon="skip-forward"
                compact
                onClick={() => conversation.stopBefore(requestId)}
              >
                Send now
              </Button>
            )}
          </>
        )}
        {delivery === "failed" && (
          <>
            <span class="failed">Not delivered · {reason}</span>
            <Button icon="rotate-ccw" compact onClick={() => conversation.replace(message)}>
              Try again
            </Button>
          </>
        )}
      </div>
    </article>
  );
}

interface VersionProps {
  readonly versions: Versions;
  readonly conversation: Conversation;
}

/** Leads to the earlier versions of a message. The buttons stay, so that the focus does. */
function VersionSwitch({ versions, conversation: { choices } }: VersionProps): JSX.Element {
  const { at, keys } = versions;
  const button = (icon: string, label: string, to: number): JSX.Element => {
    const key = keys[to - 1];
    const act = (): void => {
      if (key !== undefined) choices.value = choose(choices.value, versions, key);
    };
    return <IconButton icon={icon} label={label} compact aria-disabled={!key} onClick={act} />;
  };
  return (
    <span class="versions num" role="group" aria-label="Versions">
      {button("chevron-left", "Earlier version", at - 1)}
      <span class="unseen">Version </span>
      {at} / {keys.length}
      {button("chevron-right", "Later version", at + 1)}
    </span>
  );
}

type AnswerProps = Omit<RowProps, "row"> & { readonly answer: Answer };

function AnswerView({ answer, isLast, context }: AnswerProps): JSX.Element {
  const { at, segments, state, key, question } = answer;
  const { store, conversation, pause } = context;
  const { name } = store;
  const isWorking = state === "working";
  const last = segments.at(-1);
  const isText = last?.kind === "text" && last.message.kind !== "notice" && !last.message.asked;
  const isWriting = isWorking && isText && !last.message.isFinal;
  const isPaused = isWorking && pause.value !== undefined;
  const hasCard = segments.some((one) => one.kind === "text" && one.message.asked);
  return (
    <article
      class={`msg${isLast ? " last" : ""}${hasCard ? " asks" : ""}`}
      id={`m-${key}`}
      aria-label={`${name} at ${timeOfDay(at)}`}
      aria-busy={isWorking}
    >
      <div class="who">
        <span class="avatar">
          <Icon name="bot" />
        </span>
        <b>{name}</b>
        <Model answer={answer} />
        <Time at={at} />
      </div>
      {segments.map((segment) =>
        segment.kind === "steps" ? (
          <Steps
            key={segment.key}
            steps={segment.steps}
            isRunning={isWorking && segment === last}
          />
        ) : segment.message.kind === "notice" ? (
          <p key={segment.key} class="notice">
            <Icon name="info" />
            <span>{segment.message.content}</span>
          </p>
        ) : segment.message.asked ? (
          <Question key={segment.key} {...{ answer, context }} message={segment.message} />
        ) : (
          <Text key={segment.key} isStreaming={isWriting && !isPaused && segment === last}>
            {segment.message}
          </Text>
        ),
      )}
      {isWorking && <Working answer={answer} isWriting={isWriting} pause={pause} />}
      {state === "failed" && (
        <div class="failure" role="group" aria-label="Failed">
          <Icon name="circle-x" />
          <p>{failureOf(answer.run)}</p>
          {question && !conversation.isReadOnly && !hasLeftCard(answer) && (
            <Button icon="rotate-ccw" onClick={() => conversation.replace(question)}>
              Try again
            </Button>
          )}
        </div>
      )}
      {!isWorking && <AnswerMeta answer={answer} context={context} />}
    </article>
  );
}

/** True if a card offers to send the message again. */
const hasLeftCard = ({ segments }: Answer): boolean =>
  segments.some(
    (one) => one.kind === "text" && one.message.asked !== undefined && isLeft(one.message.asked),
  );

function Model({ answer }: { readonly answer: Answer }): JSX.Element | null {
  const models = answer.segments.flatMap((one) =>
    one.kind === "text" && one.message.model ? [one.message.model] : [],
  );
  const model = models.at(-1);
  return model === undefined ? null : <span class="muted xs">{model}</span>;
}

type TextMessage = Extract<Answer["segments"][number], { kind: "text" }>["message"];

function Text({ children, isStreaming }: { children: TextMessage; isStreaming: boolean }) {
  const { content, files, entries } = children;
  const details = useDetails(entries !== undefined);
  if (details) return <details.Plan entries={entries!} />;
  return (
    <>
      {content !== "" && <Prose text={content} isStreaming={isStreaming} />}
      <Files files={files} />
    </>
  );
}

interface QuestionProps {
  readonly answer: Answer;
  readonly message: TextMessage;
  readonly context: RowContext;
}

const useCard = onDemand(() => import("./questions/question-card.tsx"));

/** The text of the question, until the code of its card is loaded. */
function Question(props: QuestionProps): JSX.Element {
  const card = useCard();
  if (!card) return <Text isStreaming={false}>{props.message}</Text>;
  return <card.QuestionCard {...props} />;
}

/** After this time, the page shows how long the application has worked. */
const showElapsedMs = 10_000;

function workOf({ segments }: Answer): string {
  const isAsking = segments.some(
    (one) => one.kind === "text" && one.message.asked?.state === "open",
  );
  if (isAsking) return "Waiting for your answer…";
  const last = segments.at(-1);
  const step = last?.kind === "steps" ? last.steps.at(-1) : undefined;
  if (step?.message.kind !== "tools") return "Thinking…";
  const names = step.message.calls.map((call) => readToolCall(call).name);
  return names.length > 0 ? `Running ${names.join(", ")}…` : "Running a tool…";
}

const pauses: Readonly<Record<Pause, string>> = {
  connection: "Waiting for connection…",
  application: "Waiting for the application…",
};

interface WorkingProps {
  readonly answer: Answer;
  readonly isWriting: boolean;
  readonly pause: RowContext["pause"];
}

/** Three dots, what runs, and after a while for how long; or what the answer waits for. */
function Working({ answer, isWriting, pause }: WorkingProps): JSX.Element {
  const startedAt = answer.run?.startedAt;
  // Reading the signal draws this again each second.
  const elapsed = second.value > 0 && startedAt !== undefined ? serverNow() - startedAt : 0;
  if (pause.value)
    return (
      <p class="working">
        <Icon name="clock" small />
        {pauses[pause.value]}
      </p>
    );
  return (
    <p class="working">
      <span class="pulse" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      {isWriting ? "Writing…" : workOf(answer)}
      {elapsed > showElapsedMs && <span class="num">{Math.floor(elapsed / 1_000)} s</span>}
    </p>
  );
}

/** How an answer ended. The time is unknown if the page joined after the beginning. */
function stateText({ state, run }: Answer): JSX.Element | null {
  if (state === "incomplete") return <span>Incomplete</span>;
  if (state === "stopped")
    return (
      <span class="working">
        <Icon name="square" small />
        Stopped
      </span>
    );
  const ms = run?.endedAt === undefined ? 0 : run.endedAt - run.startedAt;
  const tokens = (run?.usage?.input ?? 0) + (run?.usage?.output ?? 0);
  const facts = [ms > 0 && formatMs(ms), tokens > 0 && `${formatCount(tokens)} tokens`];
  const text = facts.filter(Boolean).join(" · ");
  return state === "done" && text !== "" ? <span class="num">{text}</span> : null;
}

function AnswerMeta({ answer, context }: { answer: Answer; context: RowContext }): JSX.Element {
  const { store, conversation } = context;
  const { isReadOnly } = conversation;
  const { requestId, question, state } = answer;
  const again = question && !isReadOnly && canEdit(question) ? question : undefined;
  const isCut = state === "stopped" && answer.run?.code === "not_running" && !hasLeftCard(answer);
  const text = textsOf(answer).join("\n\n");
  return (
    <div class="meta">
      {stateText(answer)}
      {again && isCut && (
        <Button icon="rotate-ccw" compact onClick={() => conversation.replace(again)}>
          Send again
        </Button>
      )}
      <span class="acts">
        {text !== "" && <CopyButton text={text} label="Copy answer" icon />}
        {again && state !== "failed" && !isCut && (
          <IconButton
            icon="rotate-ccw"
            label="Ask again"
            compact
            onClick={() => conversation.replace(again)}
          />
        )}
        {requestId !== undefined && !isReadOnly && (
          <IconButton
            icon="braces"
            label="Inspect request"
            compact
            onClick={() => store.inspect(requestId)}
          />
        )}
      </span>
    </div>
  );
}
