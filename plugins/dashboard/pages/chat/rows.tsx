/** The rows of a conversation. Loaded after the page. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { serverNow } from "../live/clock.ts";
import { formatDay, isSameDay } from "./day-times.ts";
import { RowView, type MessageActs } from "./message.tsx";
import type { Row } from "./state/groups.ts";
import type { Thread, UserMessage } from "./state/thread.ts";
import type { Path } from "./state/versions.ts";

/** How long the line above new messages stays. */
const unreadMs = 3_000;

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

interface RowsProps {
  readonly rows: readonly Row[];
  /** Messages that wait for an answer before them, in order. */
  readonly queued: readonly UserMessage[];
  readonly thread: Thread;
  /** Messages that are new to the reader, counted from the end. */
  readonly unread: number;
  /** Name of the application. */
  readonly name: string;
  readonly acts: MessageActs;
  readonly isReadOnly: boolean;
  readonly path: Path;
}

/** Draws the rows, with a line above the first one of a day and above new ones. */
export function Rows(props: RowsProps): JSX.Element {
  const { rows, queued, thread, unread, name, acts, isReadOnly, path } = props;
  const placeOf = new Map<Row, number>(queued.map((message, place) => [message, place]));
  const unreadKey = useUnreadKey(rows, thread, unread);
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
            name={name}
            isReadOnly={isReadOnly}
            acts={acts}
          />,
        ];
      })}
    </>
  );
}
