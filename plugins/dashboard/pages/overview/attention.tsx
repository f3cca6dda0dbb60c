/** Problems that need the owner, each with its fix. @module */
import type { JSX } from "preact";
import { second } from "../live/clock.ts";
import { Button, IconButton, LinkButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { requestAsOwner } from "../live/owner.ts";
import { toast } from "../frame/toasts.ts";
import { useSite } from "../site.tsx";
import { blockedLabel, toRejectedConnection, uniqueFixes } from "../../shared/rejections.ts";
import { formatCount } from "../../shared/format.ts";
import { visibleText } from "../../shared/visible-text.ts";
import type { ProgramView } from "../../shared/views.ts";
import type { Finding, Findings } from "./findings.ts";

/** Characters of a line of the program. */
const maxLine = 300;

export type BadgeTone = "ok" | "warn" | "bad";

export const programStates: Readonly<
  Record<ProgramView["state"], { readonly text: string; readonly tone: BadgeTone }>
> = {
  running: { text: "Running", tone: "ok" },
  waiting: { text: "Restarting soon", tone: "warn" },
  ended: { text: "Exited", tone: "bad" },
  stopped: { text: "Stopped", tone: "warn" },
};

interface FindingTexts {
  readonly title: string;
  readonly detail?: string;
  readonly fix?: string | undefined;
  /** Unix milliseconds until which an address is blocked. */
  readonly blockedUntil?: number | undefined;
  readonly action?: "restart" | "troubleshooting";
  /** Filter of the page Activity that shows the output of the program. */
  readonly output?: string;
  /** A line of the program. */
  readonly line?: string;
}

/** @param fix - Fix of a rejection; undefined if another row shows the same one. */
function describe(finding: Finding, fix: string | undefined): FindingTexts {
  if (finding.kind === "warning") return { title: finding.warning.text, fix: finding.warning.fix };
  if (finding.kind === "rejection") {
    return { ...toRejectedConnection(finding.rejection), fix, action: "troubleshooting" };
  }
  const { program, kind } = finding;
  if (kind === "stop-timed-out")
    return { title: stopTimeoutLabel(program.stopTimeouts), action: "restart" };
  if (kind === "lines") return describeLines(program);
  const { state, restarts, restartsByOwner, lastEnd } = program;
  const crashes = restarts - restartsByOwner;
  return {
    title: state === "running" ? "The application restarted" : programStates[state].text,
    detail: [
      ...(crashes === 0 ? [] : [crashes === 1 ? "1 restart" : `${crashes} restarts`]),
      ...(lastEnd === undefined ? [] : [`last exit: ${lastEnd}`]),
    ].join(", "),
    output: "source:program",
  };
}

function stopTimeoutLabel(count: number): string {
  const replies = count === 1 ? "a stopped reply" : `${formatCount(count)} stopped replies`;
  return `The program has not ended ${replies} in time. Its output about them is dropped.`;
}

function describeLines({ invalidLines, lastInvalidLine: last }: ProgramView): FindingTexts {
  const count = invalidLines === 1 ? "1 line" : `${formatCount(invalidLines)} lines`;
  return {
    title: "Lines of the program are rejected",
    detail: [`${count} ignored`, last?.reason].filter(Boolean).join(". "),
    ...(last && { line: last.text }),
    fix: "Write one JSON object per line to standard output, and log to standard error.",
    output: "stream:stdout",
  };
}

/** Finding -> fix of its rejection. */
function fixesOf(items: readonly Finding[]): ReadonlyMap<Finding, string | undefined> {
  const rejected = items.filter((one) => one.kind === "rejection");
  const fixes = uniqueFixes(rejected.map(({ rejection }) => rejection));
  return new Map(rejected.map((finding, at) => [finding, fixes[at]]));
}

interface AttentionProps {
  readonly findings: Findings;
  /** Server time of the status. */
  readonly now: number;
}

/** One row for each problem. */
export function Attention({ findings, now }: AttentionProps): JSX.Element {
  const { items, dismiss } = findings;
  const fixes = fixesOf(items);
  return (
    <section class="attention" aria-label="Needs attention">
      {items.map((finding) => (
        <Row
          key={finding.id}
          texts={describe(finding, fixes.get(finding))}
          now={now}
          dismiss={() => dismiss(finding.id)}
        />
      ))}
    </section>
  );
}

function Row({ texts, now, dismiss }: { texts: FindingTexts; now: number; dismiss: () => void }) {
  const { title, detail, fix, blockedUntil, action, output, line } = texts;
  const { url } = useSite();
  return (
    <div>
      <Icon name="triangle-alert" />
      <p>
        <b>{title}</b>
        {detail !== undefined && detail !== "" && <span> · {detail}</span>}
        {blockedUntil !== undefined && (
          <small>{blockedLabel(blockedUntil, Math.max(second.value, now))}</small>
        )}
        {line !== undefined && (
          <small>
            <code dir="auto">{visibleText(line.slice(0, maxLine))}</code>
          </small>
        )}
        {fix !== undefined && <small>{fix}</small>}
      </p>
      {action === "troubleshooting" && (
        <LinkButton compact href={url("/docs/dashboard#a-client-that-gets-401")}>
          Troubleshooting
        </LinkButton>
      )}
      {output !== undefined && (
        <LinkButton compact href={url(`/activity?q=${encodeURIComponent(output)}`)}>
          Show output
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
        <IconButton icon="x" label={`Dismiss: ${title}`} compact onClick={dismiss} />
      </span>
    </div>
  );
}

async function restart(): Promise<void> {
  const answer = await requestAsOwner("POST", "/api/program/restart");
  if ("error" in answer) toast({ text: answer.error.message, tone: "bad" });
  else toast({ text: "The program is restarting." });
}
