/** The messages of the open conversation. @module */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { serverNow } from "../live/clock.ts";
import { Button } from "../parts/button.tsx";
import { Problem, Skeleton } from "../parts/states.tsx";
import { formatDay, isSameDay } from "./dates.ts";
import { useFrameValue } from "./frames.ts";
import { RowView, type MessageActs } from "./message.tsx";
import { useStickyScroll } from "./scroll.ts";
import type { Conversation } from "./state/conversation.ts";
import { createGrouper, type Row } from "./state/groups.ts";
import type { Thread } from "./state/thread.ts";
import { hasVersions, loadVersioning, versioning } from "./state/versioning.ts";
import type { Path } from "./state/versions.ts";

interface ThreadProps {
  readonly conversation: Conversation;
  /** Name of the application. */
  readonly name: string;
  readonly acts: MessageActs;
  /** Messages that are new to the reader, counted from the end. */
  readonly unread: number;
  /** Message to show, after a search. */
  readonly seq: number | undefined;
  /** Drawn instead of messages while there are none. */
  readonly empty: JSX.Element;
}

/** From this distance to the start, earlier messages are loaded. */
const loadWithin = 200;
/** How long the line above new messages stays. */
const unreadMs = 3_000;

/** Says once that an answer is complete; while it grows, nothing is announced. */
function useAnnouncement({ runs }: Thread, name: string): string {
  const [text, setText] = useState("");
  const before = useRef(0);
  const done = [...runs.values()].filter(({ endedAt }) => endedAt !== undefined).length;
  useEffect(() => {
    if (done > before.current && before.current >= 0) setText(`${name} answered`);
    const timer = setTimeout(() => setText(""), 2_000);
    before.current = done;
    return () => clearTimeout(timer);
  }, [done]);
  return text;
}

/** Key of the first row that is new to the reader. It is found once, and goes after a while. */
function useUnreadKey(rows: readonly Row[], thread: Thread, unread: number): string | undefined {
  const [key, setKey] = useState<string>();
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

/** Shows a message that a search has found. */
function useShownMessage(conversation: Conversation, seq: number | undefined): void {
  useEffect(() => {
    const stop = new AbortController();
    if (seq !== undefined)
      void import("./show-message.ts").then((one) =>
        one.showMessage(conversation, seq, stop.signal),
      );
    return () => stop.abort();
  }, [conversation, seq]);
}

/** Path of a conversation without versions. */
const onlyPath = { versions: new Map<string, never>(), isEarlier: false, isCut: false };

/** The shown version of the thread. If it begins in the middle, earlier messages are loaded. */
function usePath(conversation: Conversation) {
  const thread = useFrameValue(conversation.thread);
  const { messages } = thread;
  const choices = conversation.choices.value;
  const isPlain = !hasVersions(messages);
  const tools = versioning.value;
  const shown = useRef<Path>({ ...onlyPath, messages: [] });
  const path = useMemo((): Path => {
    if (isPlain) return { ...onlyPath, messages };
    // Until the code is loaded, the page stays as it is.
    return tools?.selectPath(messages, choices) ?? shown.current;
  }, [messages, choices, tools]);
  shown.current = path;
  const { before } = conversation.history.value;
  useEffect(() => {
    if (!isPlain) void loadVersioning();
  }, [isPlain]);
  useEffect(() => {
    if (path.isCut && before !== undefined) void conversation.loadEarlier();
  }, [path.isCut, before]);
  const isLoading = !isPlain && !tools;
  return { thread: { ...thread, messages: path.messages }, path, isLoading };
}

export function ThreadView(props: ThreadProps): JSX.Element {
  const { conversation, name, acts, unread, seq, empty } = props;
  const { thread, path, isLoading } = usePath(conversation);
  const group = useMemo(createGrouper, [conversation]);
  const rows = group(thread);
  const history = conversation.history.value;
  const unreadKey = useUnreadKey(rows, thread, unread);
  const { box, content, isAway, ...scroll } = useStickyScroll(conversation.session, rows[0]?.key);
  const announcement = useAnnouncement(thread, name);
  useShownMessage(conversation, seq);
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
          {rows.length === 0 && (isLoading || history.state === "loading") && <Skeleton rows={3} />}
          {rows.length === 0 && !isLoading && history.state === "ready" && empty}
          {history.state === "failed" && (
            <Problem
              title="The conversation could not be loaded"
              error={history.error}
              safe="Your messages are safe."
              retry={() => conversation.loadHistory()}
            />
          )}
          {history.before !== undefined && (
            <Button kind="ghost" compact onClick={() => conversation.loadEarlier()}>
              Load earlier
            </Button>
          )}
          <Rows {...{ rows, unreadKey, name, acts, conversation, path }} />
          {thread.isTyping && !isBusy && <p class="working">Typing…</p>}
        </div>
      </div>
      <p class="unseen" role="status">
        {announcement}
      </p>
      {path.isEarlier && (
        <p class="earlier" role="status">
          <span class="grow">
            This is an earlier version. New messages continue the newest one.
          </span>
          <Button compact onClick={() => void (conversation.choices.value = new Map())}>
            Show newest
          </Button>
        </p>
      )}
      {isAway && (
        <div class="to-latest">
          <Button icon="arrow-down" compact onClick={scroll.toEnd}>
            {seen === newest ? "Jump to latest" : "New message"}
          </Button>
        </div>
      )}
    </>
  );
}

interface RowsProps {
  readonly rows: readonly Row[];
  readonly unreadKey: string | undefined;
  readonly name: string;
  readonly acts: MessageActs;
  readonly conversation: Conversation;
  readonly path: Path;
}

/** Draws the rows, with a line above the first one of a day and above new ones. */
function Rows({ rows, unreadKey, name, acts, conversation, path }: RowsProps): JSX.Element {
  const { isReadOnly } = conversation;
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
            isLast={at === rows.length - 1}
            name={name}
            isReadOnly={isReadOnly}
            acts={acts}
          />,
        ];
      })}
    </>
  );
}
