/** The messages of the open conversation. @module */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { later } from "../live/later.ts";
import { Button } from "../parts/button.tsx";
import { Problem, Skeleton } from "../parts/states.tsx";
import { useFrameValue } from "./frames.ts";
import type { MessageActs } from "./message.tsx";
import { useStickyScroll } from "./scroll.ts";
import type { Conversation } from "./state/conversation.ts";
import type { Thread } from "./state/thread.ts";
import { hasVersions, loadVersioning, versioning } from "./state/versioning.ts";
import type { Path } from "./state/versions.ts";

/** An empty conversation needs no rows; others wait for their messages anyway. */
const rowsPart = later(() => import("./rows.tsx"));

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
  const { thread, path, ...versions } = usePath(conversation);
  const loaded = rowsPart.module.value;
  const group = useMemo(() => loaded?.createGrouper(), [conversation, loaded]);
  const rows = group?.(thread) ?? [];
  const history = conversation.history.value;
  const isLoading = versions.isLoading || (!loaded && thread.messages.length > 0);
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
          {loaded && (
            <loaded.Rows
              key={conversation.session}
              {...{ rows, thread, unread, name, acts, path }}
              isReadOnly={conversation.isReadOnly}
            />
          )}
          {thread.isTyping && !isBusy && <p class="working">Typing…</p>}
        </div>
      </div>
      <p class="unseen" role="status">
        {announcement}
      </p>
      {path.isEarlier && <EarlierNote conversation={conversation} />}
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

function EarlierNote({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  return (
    <p class="earlier" role="status">
      <span class="grow">This is an earlier version. New messages continue the newest one.</span>
      <Button compact onClick={() => void (conversation.choices.value = new Map())}>
        Show newest
      </Button>
    </p>
  );
}
