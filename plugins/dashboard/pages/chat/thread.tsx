/** The place of the messages, until the code that draws them is loaded. @module */
import type { JSX } from "preact";
import { later } from "../live/later.ts";
import { Problem, Skeleton } from "../parts/states.tsx";
import type { ThreadProps } from "./log.tsx";
import { turnsPart } from "./state/conversation.ts";

/** A conversation waits for its messages anyway. */
const logPart = later(() => import("./log.tsx"));

/** Every conversation needs these for its messages. */
const needed = [logPart, turnsPart];
const missing = { status: 0, message: "Scripts of this page could not be loaded." };

export function ThreadView(props: ThreadProps): JSX.Element {
  const loaded = logPart.module.value;
  const isMissing = needed.some(({ retryAt }) => retryAt.value !== undefined);
  if (loaded && !isMissing) return <loaded.Log {...props} />;
  const { thread, history } = props.conversation;
  const isEmpty = thread.value.messages.length === 0 && history.value.state === "ready";
  return (
    <div class="log" role="log" aria-label="Messages" tabIndex={0}>
      <div class="log-in">
        {isMissing ? (
          <Problem
            title="The conversation could not be loaded"
            error={missing}
            safe="Your messages are safe."
            retry={() => needed.forEach(({ retry }) => retry())}
          />
        ) : isEmpty ? (
          props.empty
        ) : (
          <Skeleton rows={3} />
        )}
      </div>
    </div>
  );
}
