// npm run reference [-- --update]: generates the API reference with TypeDoc into
// scripts/reference/dist. Fails if more public names lack documentation than ceiling.json permits;
// --update lowers the ceiling.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const folder = import.meta.dirname;
const root = path.join(folder, "../..");
const output = path.join(folder, "dist");
const ceilingFile = path.join(folder, "ceiling.json");

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

/** Prints errors and warnings, and collects the names without documentation. */
class CollectingLogger extends Logger {
  /** @type {string[]} */
  undocumented = [];

  /** @param {string} text @param {import("typedoc").LogLevel} level */
  log(text, level) {
    super.log(text, level);
    const name = /^(\S+) .* does not have any documentation$/s.exec(text)?.[1];
    // Members of inferred types (`__type`) have no declaration that a comment could document.
    if (name !== undefined && !name.includes(".__type")) this.undocumented.push(name);
    if (name === undefined && level >= this.level) process.stderr.write(`${text}\n`);
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
const logger = new CollectingLogger();
logger.level = LogLevel.Warn;
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
if (logger.hasErrors()) process.exit(1);

const { undocumented } = logger;
const { ceiling } = readJson(ceilingFile);
console.log(path.join(output, "index.html"));
console.log(`${undocumented.length} public names lack documentation; the ceiling is ${ceiling}.`);
if (undocumented.length > ceiling) {
  console.error(
    `Document the new names. All names without documentation:\n${undocumented.join("\n")}`,
  );
  process.exitCode = 1;
} else if (undocumented.length < ceiling) {
  const lower = `${JSON.stringify({ ceiling: undocumented.length }, undefined, 2)}\n`;
  if (process.argv.includes("--update")) writeFileSync(ceilingFile, lower);
  else console.log("Lower it: npm run reference -- --update");
}
