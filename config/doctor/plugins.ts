import { assertTrusted, withParentFolders } from "../../lib/files/index.ts";
import type { CheckView, DoctorFacts } from "../../plugins/dashboard/index.ts";
import { resolveProgram } from "../handler/index.ts";
import { readEntries, resolvePluginFile } from "../plugins/index.ts";
import { createCheck, type Survey } from "./survey.ts";

/** Plugins by other authors: in a running launcher how they fare, else whether they are there
 *  and the owner's alone. Their code is not run here. */
export async function pluginChecks(found: Survey): Promise<CheckView[]> {
  const own = createCheck("plugins", "Plugins by other authors");
  const { home, files, plugins: running, pluginEntries } = found;
  if (running) {
    if (running.length === 0) return [];
    const failed = running.filter(({ state }) => state === "failed");
    const others = running.filter((each) => !failed.includes(each));
    const list = others.map(({ name, from, state }) => `${name} (${from}): ${state}`).join(", ");
    if (failed.length === 0) return [own.ok(`${list}.`)];
    const reasons = failed.map(({ from, reason }) => `${from}: failed: ${reason}`);
    const all = [...reasons, ...(list ? [`${list}.`] : [])].join(" ");
    return [
      own.failed(all, "mend what is named, or take it out of plugins in config.json; restart"),
    ];
  }
  try {
    const entries = readEntries(pluginEntries, files.config);
    if (entries.length === 0) return [];
    await assertTrusted([...(await withParentFolders(files.config)), home]);
    for (const { from } of entries) await resolvePluginFile(from, home);
    return [
      own.ok(`${entries.map(({ from }) => from).join(", ")}: there, and only you can change them.`),
    ];
  } catch (error) {
    return [own.failed((error as Error).message, "do what it says; the start says the same")];
  }
}

type RunningProgram = NonNullable<DoctorFacts["program"]>;

const restartFix = "restart the launcher, or take the edit back";

/** The program that answers: in a running launcher how it fares, and always whether it is there
 *  and the owner's alone. Nothing is started here. */
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
