/** Card that lists who has decided what, in the last seven days. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DecisionView, DecisionsView } from "../../shared/decision-views.ts";
import { decisionText, followedText } from "../../shared/decision-views.ts";
import { useResource } from "../live/resource.ts";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { Copyable } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Badge, Skeleton } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";

const firstShown = 10;

export function Decisions({ now }: { readonly now: number }): JSX.Element {
  const { url } = useSite();
  const [isWhole, setWhole] = useState(false);
  const { value, error } = useResource<DecisionsView | undefined>("/api/decisions", undefined, {
    refreshOn: ["questions"],
    minIntervalMs: 5_000,
  });
  const { decisions = [], isComplete = true } = value.value ?? {};
  const shown = isWhole ? decisions : decisions.slice(0, firstShown);
  return (
    <Card
      id="decisions-title"
      title="Decisions"
      end={
        <a class="small" href={url("/docs/security#decisions")}>
          About this list
        </a>
      }
    >
      {value.value === undefined && !error.value && <Skeleton rows={3} />}
      {error.value && <p class="body small warn">{error.value.message}</p>}
      {value.value && decisions.length === 0 && (
        <p class="body muted small">No question was settled in the last seven days.</p>
      )}
      <div class="tokens">
        {shown.map((decision) => (
          <Row key={decision.id} decision={decision} now={now} />
        ))}
      </div>
      <div class="body row wrap">
        {shown.length < decisions.length && (
          <Button compact onClick={() => setWhole(true)}>
            Show {decisions.length - shown.length} more
          </Button>
        )}
        {!isComplete && <span class="muted small">There are more: use the command.</span>}
        <Copyable text="doorward decisions -since 30d" label="Copy command" />
      </div>
    </Card>
  );
}

const icons = { allow: "circle-check", deny: "circle-x" } as const;

function Row({ decision, now }: { readonly decision: DecisionView; readonly now: number }) {
  const { at, effect, by, person, via, isDeleted, tool, conversation, title } = decision;
  const { url } = useSite();
  const followed = followedText(decision);
  const subject = decision.subject ?? decision.question?.split("\n", 1)[0] ?? "";
  return (
    <div class="token">
      <span class="disc">
        <Icon name={effect ? icons[effect] : "info"} />
      </span>
      <div>
        <div class="row wrap">
          <b>{decisionText(decision)}</b>
          {isDeleted && <Badge>Conversation deleted</Badge>}
        </div>
        {subject !== "" && <p class="small">{subject}</p>}
        {tool !== undefined && (
          <p class="muted xs mono">
            {tool} {(decision.arguments ?? "").slice(0, 500)}
          </p>
        )}
        <p class="muted xs">
          {by !== undefined && `${person ?? by} · `}
          {via} · <Ago at={at} now={now} />
          {followed !== "" && ` · ${followed}`}
          {conversation !== undefined && (
            <>
              {" · "}
              <a href={url(`/chat/${encodeURIComponent(decision.session ?? "")}`)}>
                {title || decision.session}
              </a>
            </>
          )}
        </p>
      </div>
    </div>
  );
}
