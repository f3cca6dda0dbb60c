// Doctor checks for third-party plugins and the program.
import { assertTrusted, withParentFolders } from "../../lib/files/index.ts";
import type { CheckView, DoctorFacts } from "../../plugins/dashboard/index.ts";
import { resolveHandler } from "../handler/index.ts";
import { readEntries, resolvePluginFile } from "../plugins/index.ts";
import { createCheck, type Survey } from "./survey.ts";

/**
 * Checks third-party plugins: their state in a running launcher, otherwise whether their files
 * exist and only the owner can change them. Does not run their code.
 */
export async function pluginsCheck(found: Survey): Promise<CheckView | undefined> {
  const own = createCheck("plugins", "Third-party plugins");
  const { home, files, running, pluginEntries } = found;
  if (running?.plugins) {
    const { plugins } = running;
    if (plugins.length === 0) return undefined;
    const failed = plugins.filter(({ state }) => state === "failed");
    const others = plugins.filter((each) => !failed.includes(each));
    const list = others.map(({ name, from, state }) => `${name} (${from}): ${state}`).join(", ");
    if (failed.length === 0) return own.ok(`${list}.`);
    const reasons = failed.map(({ from, reason }) => `${from}: failed: ${reason}`);
    const all = [...reasons, ...(list ? [`${list}.`] : [])].join(" ");
    const fix = "fix the named plugin or remove it from plugins in config.json, then restart";
    return own.failed(all, fix);
  }
  try {
    const entries = readEntries(pluginEntries, files.config);
    if (entries.length === 0) return undefined;
    await assertTrusted([...(await withParentFolders(files.config)), home]);
    for (const { from } of entries) await resolvePluginFile(from, home);
    const names = entries.map(({ from }) => from).join(", ");
    return own.ok(`${names}: installed, and only you can change them.`);
  } catch (error) {
    return own.failed((error as Error).message, startupFix);
  }
}

const startupFix = "follow the message; startup fails with the same one";

type RunningProgram = NonNullable<DoctorFacts["program"]>;

const restartFix = "restart the launcher, or undo the edit";

/**
 * Checks the program: its state in a running launcher, and always whether its file exists and only
 * the owner can change it. Starts nothing.
 */
export async function programChecks(found: Survey): Promise<(CheckView | undefined)[]> {
  return [statusCheck(found.running?.application), ...(await processChecks(found))];
}

/** Checks the status that the application of the running launcher has given. */
function statusCheck(status: DoctorFacts["application"]): CheckView | undefined {
  if (status === undefined) return undefined;
  const { state, name = "The application", message, fix } = status;
  const own = createCheck("application-ready", "The application is ready");
  const reason = message ?? `${name} says that it is ${state.replace("_", " ")}.`;
  if (state === "ready") return own.ok(message ?? `${name} is ready.`);
  const repair = fix ?? "read its output on the page Activity";
  return state === "failed" ? own.failed(reason, repair) : own.warning(reason, repair);
}

async function processChecks(found: Survey): Promise<(CheckView | undefined)[]> {
  const { command, check } = await programConfigured(found);
  const { running } = found;
  if (!running) return [check];
  const { program } = running;
  if (program)
    return [programHealth(program), ignoredStops(program), configDiffers(command, program), check];
  if (command === undefined) return [check];
  const own = createCheck("program-running", "The program is running");
  const reason =
    "config.json names a program, but the echo is running: an edit takes effect after a restart.";
  return [own.warning(reason, restartFix)];
}

function programHealth({
  state,
  command,
  pid,
  restarts,
  restartsByOwner,
  lastEnd,
  stderr,
}: RunningProgram): CheckView {
  const own = createCheck("program-running", "The program is running");
  const ends =
    lastEnd === undefined ? "" : ` It exited ${restarts} times, the last time with ${lastEnd}.`;
  const lastLine = stderr.at(-1) ? ` Its last line on stderr: ${stderr.at(-1)!.text}` : "";
  const fix = "read its last lines on the page Overview or in the log";
  if (state !== "running")
    return own.failed(`${command} is not running (${state}).${ends}${lastLine}`, fix);
  if (restarts > restartsByOwner)
    return own.warning(`${command} runs as process ${pid}.${ends}${lastLine}`, fix);
  return own.ok(`${command} runs as process ${pid} and has not been restarted.`);
}

function ignoredStops(program: RunningProgram): CheckView | undefined {
  const { stopTimeouts, command, knowsStop } = program;
  if (stopTimeouts === 0) return undefined;
  const own = createCheck("program-stop-timed-out", "The program ends stopped replies");
  const reason = knowsStop ? "" : " It does not announce that it knows the line message.stop.";
  const check = own.warning(
    `${command} has not ended ${stopTimeouts} of the stopped replies in time.${reason}`,
    "restart the program on the page Overview; for its authors: docs/programs.md",
  );
  return { ...check, action: "restart-program" };
}

function configDiffers(command: string | undefined, running: RunningProgram) {
  if (command === undefined || command === running.command) return undefined;
  const own = createCheck("program-edited", "config.json names the running program");
  const reason = `config.json names ${command}, but ${running.command} is running.`;
  return own.warning(reason, restartFix);
}

async function programConfigured({ home, env, files, handler }: Survey) {
  const own = createCheck("program", "The program in config.json is executable");
  try {
    const resolved = await resolveHandler(handler, { home, env, file: files.config });
    if (!resolved) return {};
    const command = resolved.options.command.join(" ");
    return { command, check: own.ok(`${command}: found, and only you can change it.`) };
  } catch (error) {
    return { check: own.failed((error as Error).message, startupFix) };
  }
}
