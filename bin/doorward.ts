#!/usr/bin/env node
// Entry of the command line: loads the compiled program and runs it.
import { ScriptLoader } from "./compile-cache/loader.ts";
import { refuseInspector } from "./inspector.ts";
import type * as Main from "./main.ts";

refuseInspector();
const program = new ScriptLoader(new URL(".", import.meta.url));
const { main } = program.unit("./main.cjs") as typeof Main;
process.exitCode = await main(program);
