/** Notes below the messages of a conversation. Loaded after the page. @module */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import type { Conversation } from "./state/conversation.ts";
import type { Thread } from "./state/thread.ts";

const announcedMs = 2_000;

interface AnnouncementProps {
  readonly thread: Thread;
  /** Name of the application. */
  readonly name: string;
}

/** Tells screen readers once that an answer is complete; while it grows, nothing is announced. */
export function Announcement({ thread: { runs }, name }: AnnouncementProps): JSX.Element {
  const [text, setText] = useState("");
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
