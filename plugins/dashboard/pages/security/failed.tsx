/** Card of failed sign-ins and rejected connections. @module */
import type { JSX } from "preact";
import type { RejectionView, StatusView } from "../../shared/views.ts";
import { askToken } from "../frame/dialogs.ts";
import { toast } from "../frame/toasts.ts";
import { second } from "../live/clock.ts";
import { requestAsOwner } from "../live/owner.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Badge } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";
import { blockedLabel, rejectionTitle, tokenMethod, uniqueFixes } from "../../shared/rejections.ts";
import { failedSignInLabel, signInMethodLabel } from "../../shared/sign-in-labels.ts";

interface FailedProps {
  readonly status: StatusView;
  readonly refresh: () => Promise<unknown>;
}

export function FailedAttempts({ status, refresh }: FailedProps): JSX.Element {
  const { url } = useSite();
  const attempts = attemptsOf(status);
  return (
    <section class="card" aria-labelledby="failed-title">
      <header>
        <h2 id="failed-title">Failed attempts</h2>
      </header>
      <div class="body stack">
        {attempts.map((attempt) => (
          <FailedAttempt
            key={attempt.key}
            attempt={attempt}
            now={Math.max(second.value, status.now)}
            refresh={refresh}
          />
        ))}
        {status.refusals.length === 0 && (
          <p class="muted small">No failed sign-ins since startup.</p>
        )}
        {attempts.length > 0 && (
          <LinkButton compact href={url("/activity?q=level:warn")}>
            Show in activity
          </LinkButton>
        )}
      </div>
    </section>
  );
}

interface AttemptProps {
  readonly attempt: Attempt;
  readonly now: number;
  readonly refresh: () => Promise<unknown>;
}

function FailedAttempt({ attempt, now, refresh }: AttemptProps): JSX.Element {
  const { address, kind, detail, times, at, until, fix } = attempt;
  return (
    <div class="attempt">
      <div class="row wrap">
        <b class="grow mono">{address}</b>
        <Badge tone="warn">{times === 1 ? "once" : `${times} times`}</Badge>
      </div>
      <p class="muted small">
        {[kind, detail].filter((part) => part !== "").join(" · ")} · <Ago at={at} now={now} />
      </p>
      {until !== undefined && (
        <div class="row wrap">
          <span class="small warn">{blockedLabel(until, now)}</span>
          {until > now && (
            <Button
              compact
              aria-label={`Unblock ${address}`}
              onClick={() => unblock(address, refresh)}
            >
              Unblock
            </Button>
          )}
        </div>
      )}
      {fix !== undefined && <p class="hint">{fix}</p>}
    </div>
  );
}

async function unblock(address: string, refresh: () => Promise<unknown>): Promise<void> {
  const answer = await askToken({
    title: `Unblock ${address}?`,
    text: "The address may send tokens again immediately.",
    verb: "Unblock",
    send: (current) => requestAsOwner("POST", "/api/unblock", { address, current }),
  });
  if (!answer || "error" in answer) return;
  toast({ text: `${address} unblocked` });
  await refresh();
}

/** Repeated failures of one address. */
interface Attempt extends Pick<RejectionView, "address" | "times" | "at" | "until"> {
  readonly key: string;
  /** Kind of the peer and reason: `Client, wrong token`. */
  readonly kind: string;
  /** How the token was sent, and from which page. */
  readonly detail: string;
  /** The fix, unless an earlier attempt shows the same one. */
  readonly fix?: string | undefined;
}

/** Returns the failed attempts, newest first. */
function attemptsOf({
  refusals,
  channel,
}: Pick<StatusView, "refusals" | "channel">): readonly Attempt[] {
  const signIns = refusals.map((refusal) =>
    attempt("Sign-in", failedSignInLabel(refusal.code), refusal, signInMethodLabel(refusal.via)),
  );
  const rejected = channel?.refusals ?? [];
  const fixes = uniqueFixes(rejected);
  const clients = rejected.map((refusal, index) => ({
    ...attempt("Client", rejectionTitle(refusal), refusal, tokenMethod(refusal.via)),
    fix: fixes[index],
  }));
  return [...signIns, ...clients].sort((a, b) => b.at - a.at);
}

function attempt(
  who: string,
  reason: string,
  { address, times, at, until, origin, code, via }: RejectionView,
  method: string | undefined,
): Attempt {
  return {
    key: `${who} ${address} ${code} ${via} ${origin}`,
    address,
    kind: `${who}, ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`,
    detail: [method, origin].filter((part) => part !== undefined).join(" · "),
    times,
    at,
    ...(until !== undefined && { until }),
  };
}
