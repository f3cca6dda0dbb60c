// Builds another commit of this repository in a temporary folder, to compare with it.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("..", import.meta.url));

/** Checks a commit out and builds it. The folder is removed when this process exits.
 * @param {string} revision @returns {import("./rounds.mjs").Version} */
export function checkOut(revision) {
  const git = (/** @type {string[]} */ ...args) => run("git", args, repository).trim();
  const commit = git("rev-parse", "--short=7", "--verify", `${revision}^{commit}`);
  const folder = mkdtempSync(path.join(tmpdir(), `doorward-${commit}-`));
  const root = path.join(folder, "tree");
  process.once("exit", () => {
    rmSync(folder, { recursive: true, force: true });
    git("worktree", "prune");
  });
  process.stderr.write(`  building ${commit}\n`);
  git("worktree", "add", "--detach", "--force", root, commit);
  const lock = (/** @type {string} */ at) =>
    readFileSync(path.join(at, "package-lock.json"), "utf8");
  const installed = path.join(repository, "node_modules");
  if (existsSync(installed) && lock(root) === lock(repository))
    symlinkSync(installed, path.join(root, "node_modules"));
  else run("npm", ["ci", "--no-audit", "--no-fund"], root);
  run("npm", ["run", "build"], root);
  return { commit, root };
}

/** @param {string} command @param {readonly string[]} args @param {string} cwd */
const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
