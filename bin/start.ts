// Loads the program and runs it.
import { statSync } from "node:fs";
import * as nodeModule from "node:module";
import { join } from "node:path";
import { homeOf } from "./environment.ts";
import { refuseInspector } from "./inspector.ts";

/** Lets Node 22 and newer store compiled code for later starts, in a private home only: a user who
 *  can write it decides which code runs, and Node's own choice is a folder that users share. */
function storeCompiledCode(): void {
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
  if (!enableCompileCache) return;
  try {
    const home = homeOf(process.env);
    const { uid, mode } = statSync(home);
    if (uid === process.getuid?.() && (mode & 0o077) === 0) enableCompileCache(join(home, "cache"));
  } catch {
    // There is no home yet.
  }
}

refuseInspector();
storeCompiledCode();
const { main } = await import("./main.ts");
// The exit code of Node for an entry module that cannot finish: it applies if `main` waits for
// something that does not keep the process alive.
process.exitCode = 13;
process.exitCode = await main();
