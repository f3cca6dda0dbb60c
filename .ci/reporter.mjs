// A Vitest reporter for .ci/run. It writes these files to the directory $RESULTS:
// - `counts`: "PASSED FAILED SOUND"; SOUND counts the passed tests of files without a failure.
// - `notes`, for the end of the log: failed tests with their errors, tests that passed only at the
//   second attempt, and the files that an aborted run did not finish.
// - `repeated`: the number of tests that passed only at the second attempt.
// - `skipped`: the files with skipped tests.
// - `pattern`: a regular expression for the names of the skipped tests.
// - `again`, at the end of the run: the files with a failure. Missing if a failure belongs to no file.
// All but the last are written whenever a file starts or ends, so that they survive a kill.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";

const folder = process.env.RESULTS;
const most = { message: 8, difference: 8, frames: 4, width: 240 };

export default class Results {
  /** File -> its tests that passed. */
  #passed = new Map();
  #failures = [];
  #retried = [];
  #open = new Set();
  #bad = new Set();
  #skipped = new Set();
  #skippedNames = new Set();

  onTestModuleStart({ relativeModuleId }) {
    this.#open.add(relativeModuleId);
    this.#write();
  }

  onTestCaseResult(test) {
    const { state, errors } = test.result();
    const name = `${test.module.relativeModuleId} > ${test.fullName}`;
    const { retryCount = 0, duration = 0 } = test.diagnostic() ?? {};
    const took = `${(duration / 1000).toFixed(1)} s`;
    const file = test.module.relativeModuleId;
    if (state === "passed") this.#passed.set(file, (this.#passed.get(file) ?? 0) + 1);
    if (state === "failed") this.#fail(file, `${name} (${retryCount + 1} tries, ${took})`, errors);
    else if (retryCount > 0)
      this.#retried.push([`${name} (${took})`, ...(errors ?? []).flatMap(lines)]);
  }

  onTestSuiteResult(suite) {
    const file = suite.module.relativeModuleId;
    if (suite.errors().length > 0) this.#fail(file, `${file} > ${suite.fullName}`, suite.errors());
  }

  onTestModuleEnd(module) {
    if (module.errors().length > 0)
      this.#fail(module.relativeModuleId, module.relativeModuleId, module.errors());
    for (const { fullName } of module.children.allTests("skipped")) {
      this.#skipped.add(module.relativeModuleId);
      this.#skippedNames.add(fullName);
    }
    this.#open.delete(module.relativeModuleId);
    this.#write();
  }

  onTestRunEnd(modules, unhandled) {
    // A process that died takes the rest of its file with it; its error names no file.
    const cut = modules.filter((module) => ["pending", "queued"].includes(module.state()));
    for (const { relativeModuleId } of cut) this.#bad.add(relativeModuleId);
    let isEnough = true;
    for (const error of unhandled) {
      const { VITEST_TEST_PATH: file } = error;
      this.#fail(file && path.relative("", file), "an error outside of tests", [error]);
      if (!file && cut.length === 0) isEnough = false;
    }
    this.#write();
    if (isEnough) writeFileSync(path.join(folder, "again"), linesOf(this.#bad));
  }

  #fail(file, name, errors) {
    if (file) this.#bad.add(file);
    this.#failures.push([name, ...errors.flatMap(lines)]);
  }

  #write() {
    const notes = [
      ...this.#failures.map(([name, ...rest]) => [`FAILED: ${name}`, ...rest]),
      ...this.#retried.map(([name, ...rest]) => [
        `DEFECT, needed a second attempt: ${name}`,
        ...rest,
      ]),
      ...[...this.#open].map((name) => [`not finished: ${name}`]),
    ];
    const passed = [...this.#passed.values()].reduce((sum, more) => sum + more, 0);
    const sound = [...this.#bad].reduce((sum, file) => sum - (this.#passed.get(file) ?? 0), passed);
    writeFileSync(path.join(folder, "repeated"), `${this.#retried.length}\n`);
    writeFileSync(path.join(folder, "skipped"), linesOf(this.#skipped));
    writeFileSync(path.join(folder, "pattern"), patternOf(this.#skippedNames));
    writeFileSync(path.join(folder, "counts"), `${passed} ${this.#failures.length} ${sound}\n`);
    writeFileSync(
      path.join(folder, "notes"),
      notes.map((note) => `${note.join("\n    ")}\n`).join(""),
    );
  }
}

const linesOf = (names) => [...names].map((name) => `${name}\n`).join("");

/** Matches full names. Vitest joins suites and tests by " > " in reports and by " " in its filter. */
function patternOf(names) {
  const escaped = [...names].map((name) =>
    name.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll(" > ", "( >)? "),
  );
  return `^(${escaped.join("|")})$`;
}

/** Formats an error with its diff, stack and cause, shortened. */
function lines({ name, message = "", diff = "", stack = "", cause }) {
  const frames = stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line) && !/node_modules|node:|<anonymous>/.test(line));
  const parts = [
    [`${name}: ${message}`, most.message],
    [diff, most.difference],
    [frames.map((line) => line.trim()).join("\n"), most.frames],
    [cause?.message === undefined ? "" : `because of ${cause.message}`, 2],
  ];
  return parts.flatMap(([text, limit]) =>
    stripVTControlCharacters(text)
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(0, limit)
      .map((line) => line.slice(0, most.width)),
  );
}
