// Lists and reads the files of the project, and finds imports, code lines and table rows in them.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const read = (path: string): string => readFileSync(join(root, path), "utf8");

export interface Import {
  /** The text between the quotes. */
  readonly specifier: string;
  /** The path from the root, or undefined if the specifier is not relative. */
  readonly path: string | undefined;
  /** Names in braces, without `type` and aliases. Empty for `import "x"` and `import x`. */
  readonly names: readonly string[];
  readonly typeOnly: boolean;
  readonly dynamic: boolean;
}
export interface Source {
  /** Path from the root, with slashes. */
  readonly path: string;
  readonly text: string;
  /** The text with comments and template text as spaces: same lines, same columns. */
  readonly code: string;
  readonly imports: readonly Import[];
}

/** The paths of the project files, with slashes: from git, or without git all but built files. */
export const projectFiles: readonly string[] = listFiles();

function listFiles(): string[] {
  const git = spawnSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
  if (git.status === 0)
    return git.stdout.split("\0").filter((path) => path !== "" && existsSync(join(root, path)));
  const built = /^(node_modules|\.venv|dist|dist-client|man|coverage|\.git)$|\.(tgz|log)$/;
  const list = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter(({ name }) => !built.test(name))
      .flatMap((entry) => {
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory()) return list(path);
        return entry.isFile() ? [path] : [];
      });
  return list("");
}

/** Returns the sorted paths of the files in the folders whose names match. */
export const filesUnder = (folders: readonly string[], fits: RegExp): string[] =>
  projectFiles
    .filter(
      (path) =>
        folders.some((folder) => path.startsWith(`${folder}/`)) && fits.test(basename(path)),
    )
    .sort();

let known: readonly Source[] | undefined;

/** Reads the TypeScript sources of the package, once for all tests of a process. */
export function sources(): readonly Source[] {
  const folders = ["kernel", "lib", "plugins", "config", "bin", "testkit"];
  known ??= filesUnder(folders, /\.tsx?$/).map(readSource);
  return known;
}

function readSource(path: string): Source {
  const text = read(path);
  const code = codeOnly(text);
  return { path, text, code, imports: importsOf(path, code) };
}

/* Comments, strings and braces. `regex` applies only after text that cannot end a value. */
const token =
  /[^/"'`{}]+|\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`|[{}]|[^]/y;
const regex = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^\\/[\n])+\/[a-z]*/y;
const blank = (text: string): string => text.replace(/[^\n]/g, " ");

/** Replaces comments and template text by spaces and keeps the code in `${}`. */
export function codeOnly(text: string): string {
  const pieces: string[] = [];
  /** End of the code so far. */
  let tail = "";
  let at = 0;
  const add = (piece: string): void => {
    pieces.push(piece);
    tail = (tail + piece).slice(-20);
  };
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? "";
    at += found.length;
    return found;
  };
  /** Reads from behind a backtick to the closing backtick. */
  const template = (): void => {
    while (at < text.length) {
      const words = match(/(?:\\[^]|\$(?!\{)|[^`$\\])*/y);
      add(blank(words));
      const end = match(/`|\$\{/y);
      add(end);
      if (end !== "${") return;
      plain();
    }
  };
  /** Reads to the matching closing brace, or to the end. */
  const plain = (): void => {
    for (let depth = 1; at < text.length;) {
      const mayBeRegex =
        text[at] === "/" &&
        /^\/[^/*]/.test(text.slice(at, at + 2)) &&
        /(?:^|[(,=:[!&|?{};+\n]|\breturn|=>)\s*$/.test(tail);
      const piece = (mayBeRegex ? match(regex) : "") || match(token);
      add(piece.startsWith("//") || piece.startsWith("/*") ? blank(piece) : piece);
      if (piece === "`") template();
      if (piece === "{") depth += 1;
      if (piece === "}") depth -= 1;
      if (depth === 0) return;
    }
  };
  while (at < text.length) plain();
  return pieces.join("");
}

const statement = /^(?:import|export)\s+(type\s+)?([^;'"]*?)\s*\bfrom\s*["']([^"']+)["']/gm;
const bare = /^import\s*["']([^"']+)["']/gm;
const dynamic = /\bimport\(\s*["']([^"']+)["']/g;

export function importsOf(path: string, text: string): Import[] {
  const resolve = (specifier: string): string | undefined =>
    specifier.startsWith(".")
      ? normalize(join(dirname(path), specifier))
          .split(sep)
          .join("/")
      : undefined;
  const make = (specifier: string, rest: Omit<Import, "specifier" | "path">): Import => ({
    specifier,
    path: resolve(specifier),
    ...rest,
  });
  const named = [...text.matchAll(statement)].map(([, type, clause = "", specifier = ""]) => {
    const items = (/\{([^}]*)\}/.exec(clause)?.[1] ?? "")
      .split(",")
      .map((item) => item.trim())
      .filter(Boolean);
    const onlyTypes =
      items.length > 0 &&
      items.every((item) => item.startsWith("type ")) &&
      /^\{[^}]*\}$/.test(clause);
    const names = items.map((item) => item.replace(/^type\s+/, "").split(/\s+as\s+/)[0]!);
    return make(specifier, { names, typeOnly: type !== undefined || onlyTypes, dynamic: false });
  });
  const rest = (pattern: RegExp, isDynamic: boolean): Import[] =>
    [...text.matchAll(pattern)].map(([, specifier = ""]) =>
      make(specifier, { names: [], typeOnly: false, dynamic: isDynamic }),
    );
  return [...named, ...rest(bare, false), ...rest(dynamic, true)];
}

/** Counts the lines with code. Lines of a template count; blank lines and comments do not. */
export function codeLines(text: string): number {
  const code = codeOnly(text).split("\n");
  const lines = text.split("\n");
  const isComment = (at: number): boolean =>
    code[at]!.trim() === "" && /^\s*(\/\/|\/?\*)|\*\/\s*$/.test(lines[at]!);
  return lines.filter((line, at) => line.trim() !== "" && !isComment(at)).length;
}

/** Returns each matching line with its path and line number. */
export function linesThat(fit: (line: string) => boolean, path: string, text: string): string[] {
  return text
    .split("\n")
    .flatMap((line, at) => (fit(line) ? [`${path}:${at + 1} ${line.trim()}`] : []));
}

/** Returns the cells of all Markdown tables whose first column has this heading. */
export function tableRows(markdown: string, firstHeading: string): string[][] {
  const rows: string[][] = [];
  let inTable = false;
  for (const line of markdown.split("\n")) {
    const inner = line.startsWith("|") ? line.slice(1, line.lastIndexOf("|")) : undefined;
    const cells = inner?.split(/(?<!\\)\|/).map((cell) => cell.trim());
    if (!cells) inTable = false;
    else if (cells[0]?.toLowerCase() === firstHeading.toLowerCase()) inTable = true;
    else if (inTable && !/^:?-+:?$/.test(cells[0] ?? "")) rows.push(cells);
  }
  return rows;
}

export const unquoted = (cell: string): string => cell.replaceAll("`", "");

/** The entry point of a folder of `plugins`: `plugins/protocols/openai` -> `plugins/openai`. */
export const entryFolder = (folder: string): string =>
  folder.replace(
    /^plugins\/(protocols|dashboard)\/(openai|ai-sdk|ag-ui|server)/,
    (_, room: string, name: string) => (name === "server" ? `plugins/${room}` : `plugins/${name}`),
  );
