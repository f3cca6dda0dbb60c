/** One finding of the doctor with its fixes. @module */
import type { JSX } from "preact";
import type { CheckView } from "../../shared/views.ts";
import { turnOnChannel } from "../frame/channel-switch.ts";
import { toast } from "../frame/toasts.ts";
import { useAct } from "../live/act.ts";
import { requestAsOwner } from "../live/owner.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { FieldProblem } from "../parts/field.tsx";
import { Copyable } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { useSite } from "../site.tsx";
import { codeParts, findingTitle, fixParts, relatedPage } from "./checks.ts";

export function Finding({ check, rerun }: { check: CheckView; rerun: () => Promise<unknown> }) {
  const { id, result, reason, fix = "", action } = check;
  const isFailed = result === "failed";
  const { text, commands } = fixParts(fix);
  const { url } = useSite();
  const page = relatedPage(id);
  return (
    <article class="card finding">
      <span class={`disc${isFailed ? " bad" : ""}`}>
        <Icon name={isFailed ? "circle-x" : "triangle-alert"} />
      </span>
      <div class="what">
        <h2>
          <span class="unseen">{isFailed ? "Problem: " : "Warning: "}</span>
          {findingTitle(check)}
        </h2>
        <p class="muted">
          <WithCode text={reason} />
        </p>
        {text !== "" && (
          <p>
            <WithCode text={text} />
          </p>
        )}
      </div>
      <div class="fixes">
        {action !== undefined && <FixButton action={action} rerun={rerun} />}
        {commands.map((command) => (
          <Copyable key={command} text={command} label="Copy command" />
        ))}
        {page && <LinkButton href={url(page.path)}>{page.name}</LinkButton>}
      </div>
    </article>
  );
}

interface FixButtonProps {
  readonly action: NonNullable<CheckView["action"]>;
  readonly rerun: () => Promise<unknown>;
}

/** Fixes the finding on the server, then runs the checks again. */
function FixButton({ action, rerun }: FixButtonProps): JSX.Element {
  const { name, busy, run } = fixes[action];
  const { isBusy, problem, act } = useAct(async () => {
    const found = await run();
    if (found === undefined) void rerun();
    return found;
  });
  return (
    <>
      <Button kind="primary" busy={isBusy && busy} onClick={act}>
        {name}
      </Button>
      <FieldProblem text={problem} />
    </>
  );
}

export function WithCode({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {codeParts(text).map((part, index) =>
        index % 2 === 1 ? <code key={index}>{part}</code> : part,
      )}
    </>
  );
}

/** A button of a finding. `run` resolves with the problem; undefined after success. */
const fixes = {
  "restart-program": { name: "Restart the program", busy: "Restarting…", run: restartProgram },
  "turn-on-channel": { name: "Turn on the channel", busy: "Turning on…", run: turnOnChannel },
};

async function restartProgram(): Promise<string | undefined> {
  const answer = await requestAsOwner("POST", "/api/program/restart");
  if ("error" in answer) return answer.error.message;
  toast({ text: "The program restarts" });
  return undefined;
}
