/** What helps against an error of a plugin that was loaded from `path`, to follow its words: a remedy, or the place in
 *  its author's code. */
export function loadErrorAdvice(error: unknown, path: string, home: string): string {
  const {
    name,
    code,
    message = "",
    stack = "",
  } = (error ?? {}) as Partial<Error> & { readonly code?: unknown };
  // Node tells the place of such an error to a terminal alone.
  if (name === "SyntaxError") return `; see where: node --check ${path}`;
  if (code === "ERR_UNKNOWN_FILE_EXTENSION")
    return "; name the JavaScript file that a compiler makes of it";
  const [, missing] = /^Cannot find package '([\w@./-]{1,100})'/.exec(message) ?? [];
  if (code === "ERR_MODULE_NOT_FOUND" && missing)
    return `; install it: npm install --prefix ${home} ${missing}`;
  const frame =
    stack.split("\n").find((line) => /^ +at /.test(line) && !line.includes("node:")) ?? "";
  const [, place] = /([\w.-]+:\d+:\d+)\)?$/.exec(frame) ?? [];
  return place === undefined ? "" : ` (${place})`;
}
