// Loads the compiled program and runs it.
import { ScriptLoader } from "./compile-cache/loader.ts";
import { refuseInspector } from "./inspector.ts";
import type * as Main from "./main.ts";

refuseInspector();
const program = new ScriptLoader(new URL(".", import.meta.url));
const { main } = program.unit("./main.cjs") as typeof Main;
// The exit code of Node for an entry module that cannot finish: it applies if `main` waits for
// something that does not keep the process alive.
process.exitCode = 13;
process.exitCode = await main(program);
