/** Tells screen readers what happens in the open conversation. @module */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { visibleText } from "../../shared/visible-text.ts";
import { serverNow } from "../live/clock.ts";
import { failureOf } from "./failures.ts";
import type { AppMessage, Message, Run, Thread } from "./state/thread.ts";

/** How long the text stays, for screen readers that read the page instead. */
const announcedMs = 10_000;
/** Characters of an answer. */
const maxText = 280;

interface AnnouncementProps {
  readonly thread: Thread;
  /** Name of the application. */
  readonly name: string;
}

interface Announced {
  readonly role: "status" | "alert";
  readonly text: string;
}

/** Characters that are read for it: marks and code are left out. */
const maxRead = 4_000;

/** The first sentences of a text without marks of Markdown. The rest is in the conversation. */
function firstSentences(markdown: string): string {
  let isCode = false;
  const lines = markdown
    .slice(0, maxRead)
    .split("\n")
    .flatMap((line) => {
      const text = line.trimStart();
      const isFence = text.startsWith("```") || text.startsWith("~~~");
      if (isFence) isCode = !isCode;
      if (isFence) return isCode ? ["Code block."] : [];
      return isCode ? [] : [text.replace(/^(?:#{1,6}|>|[-*+]|\d{1,9}[.)]) /, "")];
    });
  const plain = lines
    .join(" ")
    .replace(/\]\([^()\s]*\)/g, "")
    .replace(/[*_`~|[\]]/g, "")
    .split(/\s/)
    .filter(Boolean)
    .join(" ");
  if (plain.length <= maxText) return plain;
  const beginning = plain.slice(0, maxText);
  const end = Math.max(...[". ", "! ", "? "].map((sign) => beginning.lastIndexOf(sign)));
  return end > 0
    ? beginning.slice(0, end + 1)
    : `${beginning.slice(0, beginning.lastIndexOf(" "))}…`;
}

const isOf = (message: Message, request: string): message is AppMessage =>
  message.kind === "text" && message.requestId === request && !message.asked;

function describeEnd(name: string, request: string, run: Run, thread: Thread): Announced {
  if (run.outcome === "failed" || run.outcome === "lost")
    return { role: "alert", text: `${name} failed: ${failureOf(run)}` };
  if (run.outcome === "stopped") return { role: "status", text: `${name} was stopped` };
  const text = thread.messages.flatMap((one) => (isOf(one, request) ? [one.content] : []));
  const said = firstSentences(text.join("\n\n"));
  return { role: "status", text: said === "" ? `${name} has finished` : `${name}: ${said}` };
}

function describeQuestion(name: string, { title, content, options }: Asked): Announced {
  const what = title ?? firstSentences(content);
  const labels = (options ?? []).map(({ label }) => label);
  const answers = labels.length > 0 ? ` Answers: ${labels.join(", ")}.` : "";
  return { role: "alert", text: visibleText(`${name} asks: ${what}${answers}`) };
}

type Asked = NonNullable<AppMessage["asked"]>;

/**
 * Announces once what an answer begins with when it is complete, why it failed, and a question with
 * its answers. While an answer grows, nothing is announced.
 */
export function Announcement({ thread, name }: AnnouncementProps): JSX.Element {
  const [announced, setAnnounced] = useState<Announced>();
  // Loaded answers ended before.
  const since = useRef(serverNow());
  const known = useRef(new Set<string>());
  const isNew = (id: string): boolean => {
    const wasKnown = known.current.has(id);
    known.current.add(id);
    return !wasKnown;
  };
  useEffect(() => {
    const ends = [...thread.runs].flatMap(([id, run]) =>
      (run.endedAt ?? 0) > since.current && isNew(`run ${id}`)
        ? [describeEnd(name, id, run, thread)]
        : [],
    );
    const questions = thread.messages.flatMap((one) =>
      "asked" in one && one.asked?.state === "open" && isNew(`question ${one.asked.id}`)
        ? [describeQuestion(name, one.asked)]
        : [],
    );
    const newest = questions.at(-1) ?? ends.at(-1);
    if (newest) setAnnounced(newest);
  }, [thread]);
  useEffect(() => {
    const timer = setTimeout(() => setAnnounced(undefined), announcedMs);
    return () => clearTimeout(timer);
  }, [announced]);
  return (
    <>
      <p class="unseen" role="status">
        {announced?.role === "status" && announced.text}
      </p>
      <p class="unseen" role="alert">
        {announced?.role === "alert" && announced.text}
      </p>
    </>
  );
}
