/** The messages of the open conversation. @module */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { toast } from "../frame/toasts.ts";
import { serverNow } from "../live/clock.ts";
import { Button } from "../parts/button.tsx";
import { useSite } from "../site.tsx";
import { Icon, Mark } from "../parts/icon.tsx";
import { Problem, Skeleton } from "../parts/states.tsx";
import { formatDay, isSameDay } from "./dates.ts";
import { useFrameValue } from "./frames.ts";
import { Announcement } from "./announcement.tsx";
import { RowView, type RowContext } from "./message.tsx";
import { OutOfSightBar } from "./questions/out-of-sight.tsx";
import { useStickyScroll } from "./scroll.ts";
import type { Conversation } from "./state/conversation.ts";
import { createGrouper, findQueued, type Row } from "./state/groups.ts";
import type { ShownConversation } from "./state/store.ts";
import { countUnread } from "./state/seen.ts";
import type { Message, Thread, UserMessage } from "./state/thread.ts";
import { focusField } from "./state/unsent.ts";
import { choosePathTo, selectPath, type Path } from "./state/versions.ts";

/** From this distance to the start, earlier messages are loaded. */
const loadWithin = 200;

/** Shows a message that a search has found. */
function useShownMessage(conversation: Conversation, seq: number | undefined): void {
  useEffect(() => {
    const stop = new AbortController();
    if (seq !== undefined) void showMessage(conversation, seq, stop.signal);
    return () => stop.abort();
  }, [conversation, seq]);
}

/** The shown version of the thread. If it begins in the middle, earlier messages are loaded. */
function usePath(conversation: Conversation) {
  const thread = useFrameValue(conversation.thread);
  const { messages } = thread;
  const choices = conversation.choices.value;
  const path = useMemo(() => selectPath(messages, choices), [messages, choices]);
  const { before } = conversation.history.value;
  useEffect(() => {
    if (path.isCut && before !== undefined) void conversation.loadEarlier();
  }, [path.isCut, before]);
  return { thread: onPath(thread, path), path };
}

/** Leaves out what other versions have: their messages, and the runs of those. */
function onPath(thread: Thread, { messages }: Path): Thread {
  const shown = new Set(messages.map(({ key }) => key));
  const hidden = new Set(
    thread.messages.flatMap((one) =>
      one.kind === "user" && !shown.has(one.key) ? [one.requestId] : [],
    ),
  );
  const runs = new Map([...thread.runs].filter(([id]) => !hidden.has(id)));
  return { ...thread, messages, runs };
}

export function Log({ context }: { readonly context: RowContext }): JSX.Element {
  const { store, conversation } = context;
  const { name } = store;
  const { thread, path } = usePath(conversation);
  const group = useMemo(() => createGrouper(), [conversation]);
  const { rows, queued } = findQueued(group(thread));
  const history = conversation.history.value;
  const { box, content, isAway, ...scroll } = useStickyScroll({
    name: conversation.key,
    first: rows[0]?.key,
    sent: conversation.sent.value,
  });
  useShownMessage(conversation, store.place.value.seq);
  const isBusy = rows.some((row) => row.kind === "answer" && row.state === "working");
  const newest = rows.at(-1)?.key;
  const [seen, setSeen] = useState(newest);
  useEffect(() => {
    if (!isAway) setSeen(newest);
  }, [isAway, newest]);
  const onScroll = (): void => {
    scroll.onScroll();
    if (box.current!.scrollTop < loadWithin) void conversation.loadEarlier();
  };
  return (
    <>
      <div
        class="log"
        ref={box}
        onScroll={onScroll}
        role="log"
        aria-label="Messages"
        aria-live="off"
        aria-busy={isBusy}
        tabIndex={0}
      >
        <div class="log-in" ref={content}>
          {rows.length === 0 && history.state === "loading" && <Skeleton rows={3} />}
          {rows.length === 0 && history.state === "ready" && <Hello {...context} />}
          {history.state === "failed" && (
            <Problem
              title="The conversation could not be loaded"
              error={history.error}
              safe="Your messages are safe."
              retry={() => conversation.loadHistory()}
            />
          )}
          {history.before !== undefined && (
            <Button kind="ghost" compact onClick={() => loadEarlier(conversation)}>
              Load earlier
            </Button>
          )}
          {history.state === "ready" && history.before === undefined && (
            <Dropped dropped={history.summary?.dropped} />
          )}
          <Rows key={conversation.key} {...{ rows, queued, thread, context, path }} />
          {thread.isTyping && !isBusy && <p class="working">Typing…</p>}
        </div>
      </div>
      <Announcement key={`${conversation.key} end`} {...{ thread, name }} />
      {isAway && (
        <div class="to-latest">
          <Button icon="arrow-down" compact onClick={scroll.toEnd}>
            {seen === newest ? "Jump to latest" : "New message"}
          </Button>
        </div>
      )}
      <OutOfSightBar />
      {path.isEarlier && <EarlierNote conversation={conversation} />}
    </>
  );
}

interface Suggestion {
  readonly icon: string;
  readonly title: string;
  /** Explains the suggestion. */
  readonly text?: string;
}

/** Messages to begin with, unless the application has its own. */
const usual: readonly Suggestion[] = [
  { icon: "sparkles", title: "What can you do?", text: "Ask what it can help with" },
  { icon: "message-square", title: "Say hello", text: "See how it answers" },
];

/** Drawn in a conversation without messages. */
function Hello({ store, conversation }: ShownConversation): JSX.Element {
  const { url } = useSite();
  const { name, suggestions, isEcho } = store;
  const own = suggestions?.map((title): Suggestion => ({ icon: "message-square", title }));
  return (
    <div class="hello">
      <span class="arch">
        <Mark size={44} />
      </span>
      <div>
        <h2>
          {isEcho
            ? "An echo answers"
            : `Talk to ${name === "Application" ? "your application" : name}`}
        </h2>
        {isEcho ? (
          <p>
            It repeats what you write. <a href={url("/docs/programs")}>Put a program behind it</a>
          </p>
        ) : (
          <p>Messages go straight to your application. Answers appear while they are written.</p>
        )}
      </div>
      <div class="ideas">
        {(own ?? usual).map(({ icon, title, text }) => (
          <button
            key={title}
            type="button"
            class="idea"
            onClick={() => {
              // The buttons go with the next frame.
              if (conversation.thread.value.messages.length === 0)
                store.send(conversation, title, []);
            }}
          >
            <Icon name={icon} />
            <b>{title}</b>
            {text !== undefined && <span>{text}</span>}
          </button>
        ))}
      </div>
    </div>
  );
}

/** How long the line above new messages stays. */
const unreadMs = 3_000;

/** Key of the first row that is new to the reader. It is found once, and goes after a while. */
function useUnreadKey({ rows, thread, context }: RowsProps): string | undefined {
  const [key, setKey] = useState<string>();
  const { store, conversation } = context;
  /** Messages that are new when the conversation is opened, counted from the end. */
  const unread = useMemo(() => {
    const summary = conversation.isReadOnly ? undefined : store.summaryOf(conversation);
    return summary ? countUnread(store.list.seen.peek(), summary) : 0;
  }, [conversation]);
  const isKnown = rows.length > 0;
  useEffect(() => {
    if (unread === 0 || !isKnown) return;
    const first = thread.messages.at(-unread);
    const row = rows.find((one) => first !== undefined && contains(one, first.key));
    setKey(row?.key);
    const timer = setTimeout(() => setKey(undefined), unreadMs);
    return () => clearTimeout(timer);
  }, [isKnown, unread]);
  return key;
}

function contains(row: Row, key: string): boolean {
  if (row.kind !== "answer") return row.key === key;
  return row.segments.some((segment) =>
    segment.kind === "text"
      ? segment.key === key
      : segment.steps.some(({ message }) => message.key === key),
  );
}

interface RowsProps {
  readonly rows: readonly Row[];
  /** Messages that wait for an answer before them, in order. */
  readonly queued: readonly UserMessage[];
  readonly thread: Thread;
  readonly context: RowContext;
  readonly path: Path;
}

/** Draws the rows, with a line above the first one of a day and above new ones. */
function Rows(props: RowsProps): JSX.Element {
  const { rows, queued, context, path } = props;
  const placeOf = new Map<Row, number>(queued.map((message, place) => [message, place]));
  const unreadKey = useUnreadKey(props);
  const now = serverNow();
  return (
    <>
      {rows.map((row, at) => {
        const previous = rows[at - 1];
        const versions = path.versions.get(row.key);
        const isNewDay = previous === undefined || !isSameDay(previous.at, row.at);
        return [
          isNewDay && (
            <div key={`day ${row.key}`} class="day" role="separator">
              {formatDay(row.at, now)}
            </div>
          ),
          row.key === unreadKey && (
            <div key="unread" class="unread" role="separator">
              New messages
            </div>
          ),
          <RowView
            // All versions of a message are one row.
            key={versions?.keys[0] ?? row.key}
            row={row}
            versions={versions}
            queuePlace={placeOf.get(row)}
            isLast={at === rows.length - 1}
            context={context}
          />,
        ];
      })}
      {!context.conversation.isReadOnly && <Suggestions row={rows.at(-1)} context={context} />}
    </>
  );
}

interface SuggestionsProps {
  /** The last row of the conversation. */
  readonly row: Row | undefined;
  readonly context: RowContext;
}

/** Messages that the last answer offers to send next. */
function Suggestions({ row, context }: SuggestionsProps): JSX.Element | null {
  const suggestions = row?.kind === "answer" && row.state === "done" ? row.run?.suggestions : [];
  if (!suggestions?.length) return null;
  const send = (text: string): void => {
    // The buttons go with the next frame.
    if (context.conversation.thread.value.messages.at(-1)?.kind === "user") return;
    context.conversation.send(text, []);
    focusField();
  };
  return (
    <div class="suggestions" role="group" aria-label="Suggestions">
      {suggestions.map((text, at) => (
        <button key={at} type="button" dir="auto" onClick={() => send(text)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** Shown above the first message that the store still has. */
function Dropped({ dropped = 0 }: { readonly dropped?: number | undefined }) {
  if (dropped === 0) return null;
  const what = dropped === 1 ? "message is" : "messages are";
  return (
    <p class="working">
      {dropped.toLocaleString("en-US")} earlier {what} no longer kept.
    </p>
  );
}

/** Shown below an earlier version of a conversation. */
function EarlierNote({ conversation }: { readonly conversation: Conversation }) {
  return (
    <p class="earlier" role="status">
      <span class="grow">This is an earlier version. New messages continue the newest one.</span>
      <Button compact onClick={() => void (conversation.choices.value = new Map())}>
        Show newest
      </Button>
    </p>
  );
}

/** @returns False if it failed. */
async function loadEarlier(conversation: Conversation): Promise<boolean> {
  const isLoaded = await conversation.loadEarlier();
  if (!isLoaded) toast({ text: "Earlier messages could not be loaded. Try again.", tone: "bad" });
  return isLoaded;
}

const maxPages = 100;

/** Loads earlier messages until the one with this number is there, then shows it. */
async function showMessage(
  conversation: Conversation,
  seq: number,
  signal: AbortSignal,
): Promise<void> {
  for (let page = 0; page < maxPages && !signal.aborted; page++) {
    const { messages } = conversation.thread.value;
    const found = messages.find((message) => message.seq === seq);
    if (found) {
      const { choices } = conversation;
      choices.value = choosePathTo(messages, choices.value, found.key);
      return flash(found);
    }
    if (conversation.history.value.before === undefined && page > 0) return;
    if (page === 0) await conversation.loadHistory();
    else if (!(await loadEarlier(conversation))) return;
  }
}

function flash(message: Message): void {
  requestAnimationFrame(() => {
    const id = "requestId" in message && message.requestId ? message.requestId : message.key;
    const element =
      document.getElementById(message.kind === "user" ? `m-${id}` : `m-answer ${id}`) ??
      document.getElementById(`m-${message.key}`);
    element?.scrollIntoView({ block: "center" });
    element?.classList.add("found");
  });
}
