// npm run reference: generates the API reference with TypeDoc into scripts/reference/dist. Fails on
// every warning, for example about a public name without documentation.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

const folder = import.meta.dirname;
const root = path.join(folder, "../..");
const output = path.join(folder, "dist");

/** @param {string} file */
const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));

/** @returns {string | undefined} The installed version of TypeDoc. */
function installedVersion() {
  try {
    return readJson(path.join(folder, "node_modules/typedoc/package.json")).version;
  } catch {
    return undefined;
  }
}

/** Installs TypeDoc on first use: it needs another TypeScript version than the project. */
function installTypeDoc() {
  if (installedVersion() === readJson(path.join(folder, "package.json")).dependencies.typedoc)
    return;
  const { status } = spawnSync("npm", ["ci", "--prefix", folder], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) process.exit(1);
}

/** @returns {Map<string, string>} Source file of each package entry point, and its import path. */
function findEntryPoints() {
  const { name, exports } = readJson(path.join(root, "package.json"));
  const entries = Object.entries(exports).filter(([, target]) => target.types);
  return new Map(
    entries.map(([subpath, { types }]) => [
      path.join(root, types.replace(/^\.\/dist\//, "").replace(/\.d\.ts$/, ".ts")),
      path.posix.join(name, subpath),
    ]),
  );
}

installTypeDoc();
const { Application, Converter, Logger, LogLevel, ReflectionKind } = await import("typedoc");

/**
 * TypeDoc names members of inline and inferred types `__type`. The comment of the declaration that
 * contains them describes them.
 */
const isInlineMember = (/** @type {string} */ text) =>
  /^\S+\.__type\.\S+ .* does not have any documentation$/s.test(text);

/** Prints and counts warnings and errors. A public name without documentation is a warning. */
class StrictLogger extends Logger {
  problems = 0;

  /** @param {string} text @param {import("typedoc").LogLevel} level */
  log(text, level) {
    if (level < LogLevel.Warn || isInlineMember(text)) return;
    this.problems += 1;
    process.stderr.write(`${text}\n`);
  }

  /** @param {string} text */
  addContext(text) {
    return text;
  }
}

const entryPoints = findEntryPoints();
const app = await Application.bootstrap({
  name: "Doorward",
  entryPoints: [...entryPoints.keys()],
  tsconfig: path.join(root, "tsconfig.json"),
  basePath: root,
  readme: "none",
  disableGit: true,
  gitRevision: "main",
  sourceLinkTemplate: "https://github.com/doorward/doorward/blob/{gitRevision}/{path}#L{line}",
  // `npm run build` checks the types, with the TypeScript version of the project.
  skipErrorChecking: true,
  validation: { notDocumented: true, notExported: false },
});
const logger = new StrictLogger();
app.logger = logger;
app.converter.on(Converter.EVENT_CREATE_DECLARATION, (context, reflection) => {
  if (!reflection.kindOf(ReflectionKind.Module)) return;
  const file = context.getSymbolFromReflection(reflection)?.declarations?.[0]?.getSourceFile();
  reflection.name = entryPoints.get(path.normalize(file?.fileName ?? "")) ?? reflection.name;
});

const project = await app.convert();
if (!project) process.exit(1);
app.validate(project);
await app.generateDocs(project, output);
console.log(path.join(output, "index.html"));
if (logger.problems > 0) {
  console.error(`${logger.problems} warnings or errors; every public name needs a doc comment.`);
  process.exitCode = 1;
}
