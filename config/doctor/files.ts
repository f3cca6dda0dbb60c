// Doctor checks for the files of the home.
import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { formatUtc } from "../../lib/util.ts";
import { createCheck, type Survey } from "./survey.ts";

const runCommand = promisify(execFile);
const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, "0");

/** Checks that the files are readable, private, untracked by git and not from the future. */
export async function fileChecks(found: Survey): Promise<CheckView[]> {
  return [readable(found), await modes(found), await tracked(found), await clock(found)];
}

function readable({ unreadable }: Survey): CheckView {
  const own = createCheck("files-readable", "The files are readable");
  if (unreadable.size === 0) return own.ok("The files of settings and tokens are well-formed.");
  return own.failed(
    [...new Set(unreadable.values())].join(" "),
    "correct the file at the named line",
  );
}

async function modes({ home, files }: Survey): Promise<CheckView> {
  const own = createCheck("file-modes", "Only you can read the secrets");
  if (process.platform === "win32") return own.ok("Not checked on Windows.");
  const wide: string[] = [];
  const fixes: string[] = [];
  for (const [path, mode] of [
    [home, "700"],
    [files.launcher, "600"],
    [files.security, "600"],
  ] as const) {
    const status = await stat(path).catch(() => undefined);
    if (!status || (status.mode & 0o077) === 0) continue;
    wide.push(`${path} (${octal(status.mode)})`);
    fixes.push(`chmod ${mode} ${path}`);
  }
  if (wide.length === 0)
    return own.ok(`Other users cannot read ${home} and the files with tokens.`);
  return own.warning(
    `Other users of this machine can read: ${wide.join(", ")}.`,
    fixes.join(" && "),
  );
}

async function tracked({ home, files }: Survey): Promise<CheckView> {
  const own = createCheck("secrets-in-git", "No secret is in version control");
  const secrets = [files.launcher, files.security].map((path) => basename(path));
  const listed = await runCommand("git", ["-C", home, "ls-files", "--", ...secrets], {
    timeout: 5_000,
  }).then(
    ({ stdout }) => stdout.split("\n").filter((line) => line !== ""),
    () => [], // git is missing, or the home is not in a repository
  );
  if (listed.length === 0) return own.ok("git does not track the files with tokens.");
  return own.failed(
    `git tracks: ${listed.join(", ")}. Anyone with the repository has the tokens.`,
    `git -C ${home} rm --cached ${listed.join(" ")}, then: doorward token rotate`,
  );
}

async function clock({ files, now }: Survey): Promise<CheckView> {
  const own = createCheck("clock", "The clock is right");
  const writtenAt = (path: string): Promise<number> =>
    stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
  const times = await Promise.all(Object.values(files).map(writtenAt));
  const ahead = Math.max(...times) - now;
  if (ahead < 60_000) return own.ok(`It is ${formatUtc(now)}.`);
  return own.warning(
    `A file was written ${Math.round(ahead / 1_000)} s in the future.`,
    "set the clock, for example with NTP: sign-ins and sign-in links expire by it",
  );
}
