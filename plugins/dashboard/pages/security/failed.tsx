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
            key={keyOf(attempt)}
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
  const { who, reason, method, fix, failure } = attempt;
  const { address, times, at, until, origin } = failure;
  const kind = `${who}, ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
  return (
    <div class="attempt">
      <div class="row wrap">
        <b class="grow mono">{address}</b>
        <Badge tone="warn">{times === 1 ? "once" : `${times} times`}</Badge>
      </div>
      <p class="muted small">
        {[kind, method, origin].filter(Boolean).join(" · ")} · <Ago at={at} now={now} />
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
interface Attempt {
  readonly who: "Sign-in" | "Client";
  readonly reason: string;
  /** How the token was sent. */
  readonly method: string | undefined;
  /** The fix, unless an earlier attempt shows the same one. */
  readonly fix?: string | undefined;
  readonly failure: RejectionView;
}

/** Returns the failed attempts, newest first. */
function attemptsOf({ refusals, channel }: StatusView): readonly Attempt[] {
  const rejected = channel?.refusals ?? [];
  const fixes = uniqueFixes(rejected);
  const attempts = [
    ...refusals.map((failure): Attempt => {
      const { code, via } = failure;
      const labels = { reason: failedSignInLabel(code), method: signInMethodLabel(via) };
      return { who: "Sign-in", ...labels, failure };
    }),
    ...rejected.map((failure, at): Attempt => {
      const labels = { reason: rejectionTitle(failure), method: tokenMethod(failure.via) };
      return { who: "Client", ...labels, failure, fix: fixes[at] };
    }),
  ];
  return attempts.sort((a, b) => b.failure.at - a.failure.at);
}

const keyOf = ({ who, failure: { address, code, via, origin } }: Attempt): string =>
  `${who} ${address} ${code} ${via} ${origin}`;
