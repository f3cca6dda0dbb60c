/** Card of the doctor page that checks the way from outside. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { PublicCheckView } from "../../shared/views.ts";
import { useAct } from "../live/act.ts";
import { sendRequest } from "../live/api.ts";
import { serverNow } from "../live/clock.ts";
import { requestAsOwner } from "../live/owner.ts";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { Copyable } from "../parts/copy.tsx";
import { FieldProblem } from "../parts/field.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";
import { findingsOf, verdict } from "./checks.ts";
import { Finding, WithCode } from "./finding.tsx";

const path = "/api/doctor/public";
const pollMs = 1_000;

/** Follows the check, which runs at the server. Undefined until it is known. */
function usePublicCheck() {
  const [view, setView] = useState<PublicCheckView>();
  const refresh = async (): Promise<void> => {
    const answer = await sendRequest<PublicCheckView>("GET", path);
    // After an error, the same state in a new object continues to poll.
    setView((before) => ("body" in answer ? answer.body : before && { ...before }));
  };
  useEffect(() => void refresh(), []);
  useEffect(() => {
    if (!view?.isRunning) return undefined;
    const timer = setTimeout(() => void refresh(), pollMs);
    return () => clearTimeout(timer);
  }, [view]);
  const start = async (quick: boolean): Promise<string | undefined> => {
    const answer = await requestAsOwner<PublicCheckView>("POST", path, { quick });
    if ("error" in answer) return answer.error.message;
    setView(answer.body);
    return undefined;
  };
  return { view, start };
}

export function PublicCard(): JSX.Element | null {
  const { view, start } = usePublicCheck();
  if (!view) return null;
  return (
    <>
      <Card id="public" title="The way from outside" kind="public">
        {view.url === undefined ? <WithoutUrl /> : <Check view={view} start={start} />}
      </Card>
      {!view.isRunning &&
        findingsOf(view.checks ?? []).map((check) => (
          <Finding key={check.id} check={check} rerun={() => start(true)} />
        ))}
    </>
  );
}

function WithoutUrl(): JSX.Element {
  const { url } = useSite();
  return (
    <div class="body stack">
      <p>
        No public URL is set, so only this machine and its network reach Doorward. With an installed
        Caddy, one command sets up https; without <code>-apply</code> it only shows what it would
        do.
      </p>
      <Copyable text="doorward expose caddy door.example.org -apply" label="Copy command" />
      <p class="hint">
        <a href={url("/docs/deploy")}>Other proxies and tunnels</a>
      </p>
    </div>
  );
}

interface CheckProps {
  readonly view: PublicCheckView;
  readonly start: (quick: boolean) => Promise<string | undefined>;
}

function Check({ view, start }: CheckProps): JSX.Element {
  const { url: address = "", isRunning, step, checks, at, problem } = view;
  const { isBusy, problem: failure, act } = useAct((quick: boolean) => start(quick));
  const isActive = isRunning || isBusy;
  return (
    <div class="body stack">
      <p>
        Requests go to <code>{address}</code> as those of a visitor, and this launcher proves that
        it answers.
      </p>
      <p role="status">{isRunning ? step : checks ? verdict(checks) : ""}</p>
      {!isRunning && at !== undefined && (
        <p class="muted small">
          Checked <Ago at={at} now={Math.max(at, serverNow())} />
        </p>
      )}
      <div class="row wrap scripted">
        <Button
          kind="primary"
          icon="globe"
          busy={isActive && "Checking…"}
          onClick={() => act(true)}
        >
          Check the way in
        </Button>
        {!isActive && <Button onClick={() => act(false)}>With two minutes of silence</Button>}
      </div>
      <FieldProblem text={failure ?? problem} />
      {!isRunning && checks && <PassedChecks checks={checks} />}
    </div>
  );
}

function PassedChecks({ checks }: { readonly checks: NonNullable<PublicCheckView["checks"]> }) {
  const passed = checks.filter(({ result }) => result === "ok");
  if (passed.length === 0) return null;
  return (
    <details>
      <summary>{passed.length} passed</summary>
      <ul>
        {passed.map(({ id, title, reason }) => (
          <li key={id}>
            <WithCode text={title} />
            <p class="muted small">
              <WithCode text={reason} />
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}
