/** The messages of the open conversation. Loaded after the page. @module */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Problem, Skeleton } from "../parts/states.tsx";
import { useFrameValue } from "./frames.ts";
import type { MessageActs } from "./message.tsx";
import { Rows } from "./rows.tsx";
import { useStickyScroll } from "./scroll.ts";
import { showMessage } from "./show-message.ts";
import type { Conversation } from "./state/conversation.ts";
import { createGrouper, findQueued } from "./state/groups.ts";
import type { Thread } from "./state/thread.ts";
import { hasVersions, selectPath, type Path } from "./state/versions.ts";
import { Announcement, EarlierNote } from "./thread-notes.tsx";

export interface ThreadProps {
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

/** Shows a message that a search has found. */
function useShownMessage(conversation: Conversation, seq: number | undefined): void {
  useEffect(() => {
    const stop = new AbortController();
    if (seq !== undefined) void showMessage(conversation, seq, stop.signal);
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
  const path = useMemo(
    (): Path => (isPlain ? { ...onlyPath, messages } : selectPath(messages, choices)),
    [messages, choices],
  );
  const { before } = conversation.history.value;
  useEffect(() => {
    if (path.isCut && before !== undefined) void conversation.loadEarlier();
  }, [path.isCut, before]);
  return { thread: isPlain ? thread : onPath(thread, path), path };
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

export function Log(props: ThreadProps): JSX.Element {
  const { conversation, name, acts, unread, seq, empty } = props;
  const { thread, path } = usePath(conversation);
  const group = useMemo(() => createGrouper(), [conversation]);
  const { rows, queued } = findQueued(group(thread));
  const history = conversation.history.value;
  const { box, content, isAway, ...scroll } = useStickyScroll(conversation.session, rows[0]?.key);
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
          {rows.length === 0 && history.state === "loading" && <Skeleton rows={3} />}
          {rows.length === 0 && history.state === "ready" && empty}
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
          <Rows
            key={conversation.session}
            {...{ rows, queued, thread, unread, name, acts, path }}
            isReadOnly={conversation.isReadOnly}
          />
          {thread.isTyping && !isBusy && <p class="working">Typing…</p>}
        </div>
      </div>
      <Announcement key={`${conversation.session} end`} {...{ thread, name }} />
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
