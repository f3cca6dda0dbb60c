#!/usr/bin/env node
import { Program } from "./code/program.ts";
import type * as Main from "./main.ts";

const program = new Program(new URL(".", import.meta.url));
const { main } = program.unit("./main.cjs") as typeof Main;
process.exitCode = await main(program);
