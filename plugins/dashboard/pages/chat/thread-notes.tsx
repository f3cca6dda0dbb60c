/** Notes below the messages of a conversation. Loaded after the page. @module */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import type { Conversation } from "./state/conversation.ts";
import type { Message, Thread } from "./state/thread.ts";

const announcedMs = 2_000;

interface AnnouncementProps {
  readonly thread: Thread;
  /** Name of the application. */
  readonly name: string;
}

const isAsking = (message: Message): boolean =>
  "asked" in message && message.asked?.state === "open";

/**
 * Tells screen readers once that an answer is complete, and that a question came. While an answer
 * grows, nothing is announced.
 */
export function Announcement({ thread, name }: AnnouncementProps): JSX.Element {
  const { runs, messages } = thread;
  const [text, setText] = useState("");
  const asking = messages.filter(isAsking).length;
  const askedBefore = useRef(0);
  useEffect(() => {
    if (asking > askedBefore.current) setText(`${name} asks and waits for your answer`);
    askedBefore.current = asking;
  }, [asking]);
  const done = [...runs.values()].filter(({ endedAt }) => endedAt !== undefined).length;
  const before = useRef(done);
  useEffect(() => {
    if (done > before.current) setText(`${name} answered`);
    const timer = setTimeout(() => setText(""), announcedMs);
    before.current = done;
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <p class="unseen" role="status">
      {text}
    </p>
  );
}

/** Shown below an earlier version of a conversation. */
export function EarlierNote({ conversation }: { readonly conversation: Conversation }) {
  return (
    <p class="earlier" role="status">
      <span class="grow">This is an earlier version. New messages continue the newest one.</span>
      <Button compact onClick={() => void (conversation.choices.value = new Map())}>
        Show newest
      </Button>
    </p>
  );
}
