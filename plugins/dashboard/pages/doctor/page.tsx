/** Doctor page: findings with their fixes, then the passed checks. @module */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { CheckView, DoctorView, StatusView } from "../../shared/views.ts";
import { counts } from "../frame/counts.ts";
import { toast } from "../frame/toasts.ts";
import { sendRequest, type ApiError } from "../live/api.ts";
import { serverNow } from "../live/clock.ts";
import { requestAsOwner } from "../live/owner.ts";
import { subscribe } from "../live/stream.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Notice, PageHead, Problem, Skeleton } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { countOf, findingsOf, passedGroups, verdict } from "./checks.ts";
import { Finding, WithCode } from "./finding.tsx";
import { PublicCard } from "./public-card.tsx";
import { base } from "../live/base.ts";

/** The checks run in the browser's request, so the document has none. */
export type DoctorData = Readonly<Record<never, never>>;

interface Run {
  readonly checks: readonly CheckView[];
  /** Server time at which it finished. */
  readonly at: number;
}

export function DoctorPage(_: { readonly data: DoctorData }): JSX.Element {
  const { run, error, isRunning, start, rerun } = useRuns();
  const checks = run?.checks ?? [];
  const findings = findingsOf(checks);
  return (
    <div class="page-in">
      <PageHead title="Doctor" text="Checks the configuration and suggests fixes." />
      {run && <Verdict run={run} isRunning={isRunning} start={start} />}
      {error &&
        (run ? (
          <div role="alert">
            <Notice tone="bad">{error.message}</Notice>
          </div>
        ) : (
          <Problem title="The checks could not run." error={error} retry={start} />
        ))}
      {!run && !error && <Skeleton rows={6} />}
      {findings.length > 0 && (
        <section class="stack" aria-label="Findings">
          {findings.map((check) => (
            <Finding key={check.id} check={check} rerun={rerun} />
          ))}
        </section>
      )}
      {run && <Passed checks={checks} isOpen={findings.length === 0} />}
      {run && <PublicCard />}
    </div>
  );
}

function useRuns() {
  const [run, setRun] = useState<Run>();
  const [error, setError] = useState<ApiError>();
  const [isRunning, setRunning] = useState(false);
  const running = useRef<Promise<ApiError | undefined>>(undefined);
  const hasRun = useRef(false);
  const runChecks = async (): Promise<ApiError | undefined> => {
    setRunning(true);
    const upgrade = await canUpgrade();
    const answer = await requestAsOwner<DoctorView>("POST", "/api/doctor", { upgrade });
    running.current = undefined;
    setRunning(false);
    if ("error" in answer) {
      setError(answer.error);
      return answer.error;
    }
    hasRun.current = true;
    setError(undefined);
    setRun({ checks: answer.body.checks, at: serverNow() });
    counts.value = { ...counts.value, findings: findingsOf(answer.body.checks).length };
    return undefined;
  };
  /** A second call during a run waits for the same one. */
  const start = (): Promise<ApiError | undefined> => (running.current ??= runChecks());
  /** After a fix: a run that has begun before it shows what was. */
  const rerun = async (): Promise<ApiError | undefined> => {
    await running.current;
    return start();
  };
  useEffect(() => {
    void start();
    // The stream calls this when it opens, and again after a lost connection or a sign-in.
    return subscribe({ refresh: async () => (hasRun.current ? undefined : start()) });
  }, []);
  return { run, error, isRunning, start, rerun };
}

interface VerdictProps {
  readonly run: Run;
  readonly isRunning: boolean;
  readonly start: () => Promise<ApiError | undefined>;
}

function Verdict({ run, isRunning, start }: VerdictProps): JSX.Element {
  const { checks, at } = run;
  const text = verdict(checks);
  const passed = countOf(checks, "ok");
  const again = async (): Promise<void> => {
    if (!(await start())) toast({ text: "The checks have finished" });
  };
  return (
    <section class="card verdict" aria-label="Result">
      <Ring
        passed={passed}
        warnings={countOf(checks, "warning")}
        failed={countOf(checks, "failed")}
      />
      <div class="grow">
        <h2>{text}</h2>
        <p class="unseen" role="status">
          {isRunning ? "" : text}
        </p>
        <p class="muted">
          {checks.length === 1 ? "1 check" : `${checks.length} checks`}: {passed} passed ·{" "}
          {isRunning ? (
            "running…"
          ) : (
            <>
              last run <Ago at={at} now={at} />
            </>
          )}
        </p>
      </div>
      <Button icon="refresh-cw" busy={isRunning && "Running…"} onClick={again}>
        Run again
      </Button>
    </section>
  );
}

interface PassedProps {
  readonly checks: readonly CheckView[];
  readonly isOpen: boolean;
}

function Passed({ checks, isOpen }: PassedProps): JSX.Element | null {
  const groups = passedGroups(checks);
  if (groups.length === 0) return null;
  return (
    <section class="card checks" aria-label="Passed checks">
      {groups.map(({ name, icon, checks: passed }) => (
        <details key={`${name} ${isOpen}`} open={isOpen}>
          <summary>
            <Icon name="chevron-right" small flip tone="turn" />
            <Icon name={icon} small />
            <span class="grow">{name}</span>
            <span class="ok small">{passed.length} passed</span>
          </summary>
          <ul>
            {passed.map(({ id, title, reason }) => (
              <li key={id}>
                <Icon name="check" small tone="ok" />
                <div>
                  <WithCode text={title} />
                  <p class="muted">
                    <WithCode text={reason} />
                  </p>
                </div>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </section>
  );
}

interface RingProps {
  readonly passed: number;
  readonly warnings: number;
  readonly failed: number;
}

const radius = 16;
const circumference = 2 * Math.PI * radius;
/** Space between two arcs. */
const gap = 2;

/** The heading of the card has the same numbers as text. */
function Ring({ passed, warnings, failed }: RingProps): JSX.Element {
  const total = Math.max(1, passed + warnings + failed);
  const arcs = [
    { kind: "passed", from: 0, count: passed },
    { kind: "warnings", from: passed, count: warnings },
    { kind: "failed", from: passed + warnings, count: failed },
  ].filter(({ count }) => count > 0);
  const space = arcs.length > 1 ? gap : 0;
  return (
    <svg class="ring" viewBox="0 0 40 40" aria-hidden="true">
      {arcs.map(({ kind, from, count }) => (
        <circle
          key={kind}
          class={kind}
          cx="20"
          cy="20"
          r={radius}
          stroke-dasharray={`${(count / total) * circumference - space} ${circumference}`}
          transform={`rotate(${-90 + (360 * from) / total} 20 20)`}
        />
      ))}
    </svg>
  );
}

const openTimeoutMs = 5_000;

/**
 * Opens a WebSocket through the same proxies as this page.
 *
 * @returns True if it opens, or undefined if the channel is off or full and would reject it anyway.
 */
async function canUpgrade(): Promise<boolean | undefined> {
  const answer = await sendRequest<StatusView>("GET", "/api/status");
  const channel = "body" in answer ? answer.body.channel : undefined;
  if (!channel?.enabled || channel.connections >= channel.maxConnections) return undefined;
  if (await openWebSocket()) return true;
  // Behind a proxy that changes the host, the server learns the origin of this page here.
  await sendRequest("POST", "/api/handshake");
  return openWebSocket();
}

function openWebSocket(): Promise<boolean> {
  const address = new URL(`${base()}/pico`, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return new Promise((resolve) => {
    const socket = new WebSocket(address);
    const done = (opened: boolean): void => {
      clearTimeout(timer);
      resolve(opened);
      socket.close();
    };
    const timer = setTimeout(done, openTimeoutMs, false);
    socket.addEventListener("open", () => done(true));
    socket.addEventListener("error", () => done(false));
  });
}
