/** Problems that need the owner, each with its fix. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { StatusView } from "../../api/views.ts";
import { second } from "../live/clock.ts";
import { Button, IconButton, LinkButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { requestAsOwner } from "../live/owner.ts";
import { toast } from "../frame/toasts.ts";
import { useSite } from "../site.tsx";
import { deafLabel, programState } from "../text/program-labels.ts";
import { blockedLabel, rejectionDetail, rejectionTitle, uniqueFixes } from "../text/rejections.ts";

interface Finding {
  /** Changes when the problem occurs again; a dismissed problem then returns. */
  readonly id: string;
  readonly title: string;
  readonly detail?: string;
  readonly fix?: string | undefined;
  /** Unix milliseconds until which an address is blocked. */
  readonly blockedUntil?: number | undefined;
  readonly action?: "restart" | "troubleshooting";
}

function findingsOf({ warnings, program, channel }: StatusView): readonly Finding[] {
  const rejections = channel?.refusals ?? [];
  const fixes = uniqueFixes(rejections);
  return [
    ...warnings.map(({ id, text, fix }) => ({ id: `${id} ${text}`, title: text, fix })),
    ...(program ? programFindings(program) : []),
    ...rejections.map((rejection, at) => ({
      id: `rejected ${rejection.address} ${rejection.code} ${rejection.at}`,
      title: rejectionTitle(rejection),
      detail: rejectionDetail(rejection),
      fix: fixes[at],
      blockedUntil: rejection.until,
      action: "troubleshooting" as const,
    })),
  ];
}

function programFindings(program: NonNullable<StatusView["program"]>): readonly Finding[] {
  const { state, restarts, lastEnd, deaf, since } = program;
  return [
    ...(deaf > 0
      ? [{ id: `deaf ${deaf}`, title: deafLabel(program), action: "restart" as const }]
      : []),
    ...(state === "running" && restarts === 0
      ? []
      : [
          {
            id: `program ${state} ${restarts} ${since}`,
            title: state === "running" ? "The application restarted" : programState(state).text,
            detail: [
              restarts === 1 ? "1 restart" : `${restarts} restarts`,
              ...(lastEnd === undefined ? [] : [`last exit: ${lastEnd}`]),
            ].join(", "),
          },
        ]),
  ];
}

const storageKey = "doorward-dismissed";

/** Reads and keeps the dismissed problems. Without storage, they return with the next page. */
function useDismissed() {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    try {
      setIds(new Set(JSON.parse(localStorage.getItem(storageKey) ?? "[]") as string[]));
    } catch {
      // The browser denies storage, or something else wrote the entry.
    }
  }, []);
  const dismiss = (id: string): void => {
    const next = new Set([...ids, id].slice(-50));
    setIds(next);
    try {
      localStorage.setItem(storageKey, JSON.stringify([...next]));
    } catch {
      // Denied, as above.
    }
  };
  return { ids, dismiss };
}

/** The problems that were not dismissed. */
interface Findings {
  readonly items: readonly Finding[];
  readonly dismiss: (id: string) => void;
}

export function useFindings(status: StatusView): Findings {
  const { ids, dismiss } = useDismissed();
  return { items: findingsOf(status).filter(({ id }) => !ids.has(id)), dismiss };
}

interface AttentionProps {
  readonly findings: Findings;
  /** Server time of the status. */
  readonly now: number;
}

/** One row for each problem; nothing if there is none. */
export function Attention({ findings, now }: AttentionProps): JSX.Element | null {
  const { items, dismiss } = findings;
  if (items.length === 0) return null;
  return (
    <section class="attention" aria-label="Needs attention">
      {items.map((finding) => (
        <Row key={finding.id} finding={finding} now={now} dismiss={dismiss} />
      ))}
    </section>
  );
}

interface RowProps {
  readonly finding: Finding;
  readonly now: number;
  readonly dismiss: (id: string) => void;
}

function Row({ finding, now, dismiss }: RowProps): JSX.Element {
  const { id, title, detail, fix, blockedUntil, action } = finding;
  const { url } = useSite();
  return (
    <div>
      <Icon name="triangle-alert" />
      <p>
        <b>{title}</b>
        {detail !== undefined && <span> · {detail}</span>}
        {blockedUntil !== undefined && (
          <small>{blockedLabel(blockedUntil, Math.max(second.value, now))}</small>
        )}
        {fix !== undefined && <small>{fix}</small>}
      </p>
      {action === "troubleshooting" && (
        <LinkButton compact href={url("/docs/dashboard#a-client-that-gets-401")}>
          Troubleshooting
        </LinkButton>
      )}
      {action === "restart" && (
        <span class="scripted">
          <Button compact onClick={restart}>
            Restart the program
          </Button>
        </span>
      )}
      <span class="scripted">
        <IconButton icon="x" label={`Dismiss: ${title}`} compact onClick={() => dismiss(id)} />
      </span>
    </div>
  );
}

async function restart(): Promise<void> {
  const answer = await requestAsOwner("POST", "/api/program/restart");
  if ("error" in answer) toast({ text: answer.error.message, tone: "bad" });
  else toast({ text: "The program is restarting." });
}
