// Restarts the program from the doctor page.
import { button } from "./dom.ts";
import { requestAsOwner } from "./owner.ts";

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
