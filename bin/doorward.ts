#!/usr/bin/env node
// Entry of the command line: checks the version of Node before it loads the program. Node 12.20 can
// run this file, so that an old Node shows a sentence instead of a syntax error. It imports nothing
// else.

const { node } = process.versions;
const [major = 0, minor = 0] = node.split(".").map(Number);
const isSupported = major > 22 || (major === 22 && minor >= 2) || (major === 20 && minor >= 19);
if (isSupported) void import("./start.ts");
else {
  process.stderr.write(
    `doorward: Node 20.19, or Node 22.2 or newer, is required; this is Node ${node}.\n`,
  );
  process.exitCode = 1;
}
