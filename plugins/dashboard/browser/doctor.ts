// Doctor page: runs the checks and shows their results.
import type { CheckView, DoctorView } from "../api/views.ts";
import type { ApiError } from "./api.ts";
import { startPage } from "./page.ts";
import { el, live, setLive } from "./dom.ts";
import { requestAsOwner } from "./owner.ts";
import { restartButton } from "./restart-program.ts";
import { startStream } from "./stream.ts";
import { canUpgrade } from "./upgrade-probe.ts";

const run = document.querySelector<HTMLButtonElement>("[data-run]")!;
const list = live("checks")!;
const results = {
  ok: { tone: "ok", text: "OK" },
  warning: { tone: "warn", text: "Warning" },
  failed: { tone: "bad", text: "Failed" },
} as const;
let hasRun = false;
let running: Promise<ApiError | undefined> | undefined;

startPage();
run.addEventListener("click", () => void runOnce());
startStream({ refresh: async () => (hasRun ? undefined : runOnce()) });

/** Allows one run at a time, since responses of parallel runs could arrive in the wrong order. */
function runOnce(): Promise<ApiError | undefined> {
  running ??= runChecks().finally(() => {
    running = undefined;
  });
  return running;
}

async function runChecks(): Promise<ApiError | undefined> {
  run.disabled = true;
  list.setAttribute("aria-busy", "true");
  setLive("summary", "Checking…");
  setLive("problem", "");
  const answer = await requestAsOwner<DoctorView>("POST", "/api/doctor", {
    upgrade: await canUpgrade(),
  });
  run.disabled = false;
  list.removeAttribute("aria-busy");
  if ("error" in answer) {
    setLive("summary", "");
    setLive("problem", answer.error.message);
    return answer.error;
  }
  hasRun = true;
  const { checks } = answer.body;
  list.replaceChildren(...worstFirst(checks).map(check));
  setLive("summary", summary(checks));
  return undefined;
}

/** Puts failed checks first, then warnings. Keeps the server order within each result. */
function worstFirst(checks: readonly CheckView[]): readonly CheckView[] {
  return (["failed", "warning", "ok"] as const).flatMap((wanted) =>
    checks.filter(({ result }) => result === wanted),
  );
}

function check({ title, result, reason, fix, action }: CheckView): HTMLElement {
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
      action === "restart-program" && restartButton(restarted),
    ),
  );
}

async function restarted(problem: string): Promise<void> {
  if (problem === "") await runOnce();
  else setLive("problem", problem);
}

/** Converts text between backticks to code elements. */
function withCode(text: string): (Node | string)[] {
  return text.split("`").map((part, index) => (index % 2 === 1 ? el("code", {}, part) : part));
}

function summary(checks: readonly CheckView[]): string {
  const failed = checks.filter(({ result }) => result === "failed").length;
  const warnings = checks.filter(({ result }) => result === "warning").length;
  if (failed + warnings === 0) return `All ${checks.length} checks passed.`;
  const warned = warnings === 1 ? "1 warning" : `${warnings} warnings`;
  const parts = [failed > 0 && `${failed} failed`, warnings > 0 && warned];
  return `${parts.filter(Boolean).join(", ")} of ${checks.length} checks.`;
}
