/** How the page shows a file: by its type and the ending of its name. @module */
import { inlineImage } from "../markdown/links.ts";
import type { ShownFile } from "../state/thread.ts";

/** True for an image that is in the message itself. */
export const isInlineImage = ({ url = "" }: ShownFile): boolean => inlineImage.test(url);

/** True if the server may know the file as something that browsers show. */
export const mayBeShown = ({ type = "" }: ShownFile): boolean =>
  /^(image|audio|video)(\/|$)/.test(type) && !/svg/.test(type);

/** Endings of text files -> language of the highlighter. */
const languages: Readonly<Record<string, string>> = {
  bash: "bash",
  diff: "diff",
  html: "xml",
  js: "javascript",
  json: "json",
  jsx: "javascript",
  mjs: "javascript",
  patch: "diff",
  py: "python",
  sh: "bash",
  svg: "xml",
  ts: "typescript",
  tsx: "typescript",
  xml: "xml",
  yaml: "yaml",
  yml: "yaml",
};

/** Endings of text files that are not highlighted. */
const plain = /^(c|cfg|conf|cpp|css|csv|go|h|ini|java|jsonl|log|md|rs|sql|toml|tsv|txt)$/;

const textTypes = /^(text\/.+|application\/(json|xml|yaml|toml|javascript|x-sh|sql))$/;

/** @returns The language of a text file; undefined for other files. */
export function languageOf({ name, type = "" }: ShownFile): string | undefined {
  const ending = /\.(\w{1,8})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return languages[ending] ?? (plain.test(ending) || textTypes.test(type) ? "" : undefined);
}
