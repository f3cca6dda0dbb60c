import type { CheckView, DoctorView } from "../api/views.ts";
import type { Refusal } from "./api.ts";
import { startDesk } from "./desk.ts";
import { el, live, setLive } from "./dom.ts";
import { askOwner } from "./owner.ts";
import { startStream } from "./stream.ts";
import { upgradeComesThrough } from "./upgrade-probe.ts";

const run = document.querySelector<HTMLButtonElement>("[data-run]")!;
const list = live("checks")!;
const results = {
  ok: { tone: "ok", text: "Good" },
  warning: { tone: "warn", text: "Warning" },
  failed: { tone: "bad", text: "Failed" },
} as const;
let hasRun = false;
let running: Promise<Refusal | undefined> | undefined;

startDesk();
run.addEventListener("click", () => void examine());
startStream({ refresh: async () => (hasRun ? undefined : examine()) });

/** One at a time: of two the older could be answered last. */
function examine(): Promise<Refusal | undefined> {
  running ??= runChecks().finally(() => {
    running = undefined;
  });
  return running;
}

async function runChecks(): Promise<Refusal | undefined> {
  run.disabled = true;
  list.setAttribute("aria-busy", "true");
  setLive("summary", "Checking…");
  setLive("problem", "");
  const answer = await askOwner<DoctorView>("POST", "/api/doctor", {
    upgrade: await upgradeComesThrough(),
  });
  run.disabled = false;
  list.removeAttribute("aria-busy");
  if ("refused" in answer) {
    setLive("summary", "");
    setLive("problem", answer.refused.message);
    return answer.refused;
  }
  hasRun = true;
  const { checks } = answer.body;
  list.replaceChildren(...worstFirst(checks).map(check));
  setLive("summary", summary(checks));
  return undefined;
}

/** What is to be mended stands on top; beyond that the order says what to look at first. */
function worstFirst(checks: readonly CheckView[]): readonly CheckView[] {
  return (["failed", "warning", "ok"] as const).flatMap((wanted) =>
    checks.filter(({ result }) => result === wanted),
  );
}

function check({ title, result, reason, fix }: CheckView): HTMLElement {
  const { tone, text } = results[result];
  return el(
    "li",
    { class: tone },
    el("span", { class: `badge ${tone}` }, text),
    el(
      "div",
      {},
      el("h3", {}, ...withCode(title)),
      el("p", {}, ...withCode(reason)),
      fix !== undefined && result !== "ok" && el("p", { class: "fix" }, ...withCode(fix)),
    ),
  );
}

/** Text in which what stands between backticks is code. */
function withCode(text: string): (Node | string)[] {
  return text.split("`").map((part, at) => (at % 2 === 1 ? el("code", {}, part) : part));
}

function summary(checks: readonly CheckView[]): string {
  const failed = checks.filter(({ result }) => result === "failed").length;
  const warnings = checks.filter(({ result }) => result === "warning").length;
  if (failed + warnings === 0) return `All ${checks.length} checks are good.`;
  const warned = warnings === 1 ? "1 warning" : `${warnings} warnings`;
  const parts = [failed > 0 && `${failed} failed`, warnings > 0 && warned];
  return `${parts.filter(Boolean).join(", ")} of ${checks.length} checks.`;
}
