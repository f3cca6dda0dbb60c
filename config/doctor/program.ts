import type { CheckView, DoctorFacts } from "../../plugins/dashboard/index.ts";
import { resolveProgram } from "../handler/index.ts";
import type { Survey } from "./survey.ts";
import { createCheck } from "./verdict.ts";

type RunningProgram = NonNullable<DoctorFacts["program"]>;

const restartFix = "restart the launcher, or take the edit back";

/** The program that answers: in a running launcher how it fares, and always whether it is there and the owner's alone.
 *  Nothing is started here. */
export async function programChecks(found: Survey): Promise<CheckView[]> {
  const { running } = found;
  const files = await programConfigured(found);
  if (!running) return files.checks;
  if (running.program)
    return [
      programHealth(running.program),
      ...configDiffers(files.command, running.program),
      ...files.checks,
    ];
  if (files.command === undefined) return files.checks;
  const own = createCheck("program-running", "The program that answers runs");
  return [
    own.warning(
      "config.json names a program, and the echo answers: an edit waits for a restart.",
      restartFix,
    ),
  ];
}

function programHealth({
  state,
  command,
  pid,
  restarts,
  lastEnd,
  stderr,
}: RunningProgram): CheckView {
  const own = createCheck("program-running", "The program that answers runs");
  const ends =
    lastEnd === undefined ? "" : ` It has ended ${restarts} times, the last time with ${lastEnd}.`;
  const said = stderr.at(-1) ? ` It said: ${stderr.at(-1)!.text}` : "";
  const fix = "look at its last lines on the overview, or in the log";
  if (state !== "running")
    return own.failed(`${command} does not run (${state}).${ends}${said}`, fix);
  if (restarts > 0) return own.warning(`${command} runs as process ${pid}.${ends}${said}`, fix);
  return own.ok(`${command} runs as process ${pid} and was never restarted.`);
}

function configDiffers(command: string | undefined, running: RunningProgram): CheckView[] {
  if (command === undefined || command === running.command) return [];
  const own = createCheck("program-edited", "config.json names what runs");
  return [own.warning(`config.json names ${command}; ${running.command} runs.`, restartFix)];
}

async function programConfigured({ home, env, prefix, files, handler }: Survey) {
  const own = createCheck("program", "The program of config.json can be run");
  try {
    const places = { home, env, brand: prefix.toLowerCase(), file: files.config };
    const program = await resolveProgram(handler, places);
    if (!program) return { checks: [] };
    const command = program.command.join(" ");
    return { command, checks: [own.ok(`${command}: there, and only you can change it.`)] };
  } catch (error) {
    return {
      checks: [own.failed((error as Error).message, "do what it says; the start says the same")],
    };
  }
}
