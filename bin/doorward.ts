#!/usr/bin/env node
import { parseArguments, UsageError, usage, type LauncherArguments } from "./arguments.ts";

// Everything else gets this copy; children start without the tokens.
const env: Readonly<Record<string, string | undefined>> = Object.freeze({ ...process.env });
for (const name of Object.keys(process.env)) if (/^SERVICE_.*TOKEN$/.test(name)) delete process.env[name];

try {
  process.exitCode = await run(parseArguments(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`doorward: ${error.message}\nRun "doorward -help" for the options.\n`);
  process.exitCode = 2;
}

async function run(given: LauncherArguments): Promise<number> {
  if (given.command === "help") {
    process.stdout.write(usage);
    return 0;
  }
  const { version } = await import("./version.ts");
  if (given.command === "version") {
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const { launch } = await import("./launch.ts");
  return launch({ ...given, env, version });
}
