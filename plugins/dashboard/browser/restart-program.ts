// Restarts the program from the overview and the doctor page.
import { button, onClick, setLive } from "./dom.ts";
import type { Feed } from "./feed.ts";
import { requestAsOwner } from "./owner.ts";

/** Enables the button of the program card, which ignored stops make visible. */
export function enableProgramRestart(feed: Feed): void {
  const restart = document.querySelector<HTMLButtonElement>("[data-restart-program]");
  if (!restart) return;
  onClick(restart, async () => {
    setLive("program-problem", await restartProgram());
    await feed.refresh();
  });
}

/** Creates a button that restarts the program, for a doctor check. */
export function restartButton(restarted: (problem: string) => unknown): HTMLButtonElement {
  return button("Restart the program", "quiet small", async () =>
    restarted(await restartProgram()),
  );
}

/** @returns The problem; empty after success. */
async function restartProgram(): Promise<string> {
  const answer = await requestAsOwner("POST", "/api/program/restart");
  return "error" in answer ? answer.error.message : "";
}
