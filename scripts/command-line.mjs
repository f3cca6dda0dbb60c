// Writes completion scripts for bash, zsh and fish, and the man page, from the help texts.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

/** Writes `dist/completion/SHELL` and `man/doorward.1`. `dist/bin` has the compiled help texts. */
export async function writeCommandLineFiles(root) {
  const load = (name) => import(pathToFileURL(path.join(root, "dist", "bin", name)).href);
  const texts = { ...(await load("arguments.js")), ...(await load("commands/index.js")) };
  const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8"));
  const words = vocabulary(texts);
  const files = {
    "dist/completion/bash": bashScript(words),
    "dist/completion/zsh": zshScript(words),
    "dist/completion/fish": fishScript(words),
    "man/doorward.1": manPage(texts, version),
  };
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

/** `-no-tray` is mentioned in the text of `-tray`. */
const optionsOf = (rows) =>
  rows.flatMap(([words, does]) => {
    const [, name, value] = /^ *(-[a-z-]+)(?: ([A-Z]+))?$/.exec(words) ?? [];
    if (name === undefined) return [];
    const opposites = [...does.matchAll(/-no-[a-z]+/g)].map(([no]) => ({ name: no, does }));
    return [{ name, does, value }, ...opposites];
  });

/**
 * Derives the words of the command line from the help texts.
 *
 * @returns The commands with their second words and options, and the options of the launcher. An
 *   option has `value`, the placeholder of its value, unless it is a switch.
 */
function vocabulary({ commands, launcherRows, commonRows, runRow }) {
  const known = new Map(
    Object.values(commands)
      .flatMap(({ usage }) => optionsOf(usage))
      .map((option) => [option.name, option]),
  );
  const toCommand = ([name, { usage, options = {} }]) => {
    const named = Object.keys(options).flatMap((option) => known.get(`-${option}`) ?? []);
    const all = [...optionsOf(usage), ...named, ...optionsOf(commonRows)];
    const rows = usage.filter(([words]) => !words.startsWith(" "));
    const words = rows.flatMap(([text, does]) => {
      const [, second = ""] = text.split(" ");
      const choices = /^[a-z|]+$/.test(second) ? second.split("|") : [];
      return choices.map((choice) => ({ name: choice, does }));
    });
    return {
      name,
      does: words.length > 1 ? words.map((word) => word.name).join(", ") : (rows[0]?.[1] ?? ""),
      words,
      options: all.filter((one, at) => all.findIndex((same) => same.name === one.name) === at),
    };
  };
  return {
    commands: Object.entries(commands).map(toCommand),
    options: optionsOf(launcherRows),
    runOptions: optionsOf([runRow, ...launcherRows]),
  };
}

const run = {
  name: "run",
  does: "Start the launcher with a program that answers messages",
  words: [],
  options: [],
};
const help = { name: "help", does: "Print all commands", words: [], options: [] };

const firstWords = ({ commands, runOptions }) => [
  { ...run, options: runOptions },
  ...commands,
  help,
];

const names = (words) => words.map(({ name }) => name).join(" ");
/** A pattern of the options that take a file, or another value. */
function ofKind(all, isFile) {
  const kind = all.filter(({ value }) => value !== undefined && (value === "FILE") === isFile);
  return [...new Set(kind.flatMap(({ name }) => [name, `-${name}`]))].join("|");
}

/** @returns A script for bash 3.2 or later: `source <(doorward completion bash)`. */
function bashScript(words) {
  const first = firstWords(words);
  const all = first.flatMap(({ options }) => options);
  const cases = first.map(
    (command) =>
      `      ${command.name}) words=${quote(names([...command.words, ...command.options]))} ;;`,
  );
  return `# Completes doorward in bash. In ~/.bashrc: source <(doorward completion bash)
_doorward() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words= word
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [[ $word == -- ]] && return; done
  case $previous in
    ${ofKind(all, true)}) return ;;
    ${ofKind(all, false)}) compopt +o default 2>/dev/null; return ;;
  esac
  if [[ $COMP_CWORD -eq 1 ]]; then
    words=${quote(`${names(first)} ${names(words.options)}`)}
  else
    case \${COMP_WORDS[1]} in
${cases.join("\n")}
      *) words=${quote(names(words.options))} ;;
    esac
  fi
  if [[ $current == --* ]]; then words=" $words"; words=\${words// -/ --}; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _doorward doorward
`;
}

/** @returns A script for zsh; the file `_doorward` in a folder of `fpath`. */
function zshScript(words) {
  const first = firstWords(words);
  const list = (items) =>
    items.map(({ name, does }) => quote(`${name.replaceAll(":", "\\:")}:${does}`)).join(" ");
  const cases = first.map(
    (command) => `    ${command.name}) found=(${list([...command.words, ...command.options])}) ;;`,
  );
  return `#compdef doorward
# Completes doorward in zsh. In ~/.zshrc, after compinit: source <(doorward completion zsh)
_doorward() {
  local -a found
  if (( CURRENT == 2 )); then
    found=(${list([...first, ...words.options])})
    _describe -o doorward found
    _files -g '*.json'
    return
  fi
  case $words[2] in
${cases.join("\n")}
    *) found=(${list(words.options)}) ;;
  esac
  case $words[CURRENT-1] in
    ${ofKind(
      first.flatMap(({ options }) => options),
      true,
    )}) _files; return ;;
  esac
  _describe -o doorward found || _files
}
compdef _doorward doorward
`;
}

/** @returns A script for fish: `doorward completion fish | source`. */
function fishScript(words) {
  const option = (condition, { name, does, value }) => {
    const takes = value === undefined ? "" : value === "FILE" ? " -r -F" : " -x";
    const plain = name.slice(1);
    const names = `-o ${plain} -l ${plain}${takes}`;
    return `complete -c doorward -n ${quote(condition)} ${names} -d ${quote(does)}`;
  };
  const start = "__fish_use_subcommand";
  const lines = firstWords(words).flatMap((command) => {
    const after = `__fish_seen_subcommand_from ${command.name}`;
    return [
      `complete -c doorward -n ${start} -a ${command.name} -d ${quote(command.does)}`,
      ...command.words.map(
        ({ name, does }) =>
          `complete -c doorward -f -n ${quote(after)} -a ${name} -d ${quote(does)}`,
      ),
      ...command.options.map((found) => option(after, found)),
    ];
  });
  const launcher = words.options.map((found) => option(start, found));
  return `# Completes doorward in fish. In config.fish: doorward completion fish | source
${[...lines, ...launcher].join("\n")}
`;
}

/** A word for a shell. Help texts contain quotation marks. */
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A dash that can be searched and copied, and no request at the start of a line. */
const escaped = (text) =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/, "\\&$1");

const paragraphs = (rows) =>
  rows
    .map(([words, does]) => `.TP\n\\fB${escaped(words.trim())}\\fR\n${escaped(does)}.`)
    .join("\n");

/** @returns The page `doorward(1)` in the macros of man(7). */
function manPage({ commands, launcherRows, commonRows, exitCodeRows, runRow }, version) {
  const usage = Object.values(commands).flatMap((command) => command.usage);
  return `.TH DOORWARD 1 "" "doorward ${version}" "User Commands"
.SH NAME
doorward \\- make a program reachable by a dashboard, a channel and a client
.SH SYNOPSIS
.B doorward
[\\fIconfig.json\\fR] [\\fIoptions\\fR]
.br
.B doorward run
[\\fIoptions\\fR] \\-\\- \\fIPROGRAM\\fR [\\fIARGUMENT\\fR]...
.br
.B doorward
\\fICOMMAND\\fR [\\fIoptions\\fR]
.SH DESCRIPTION
Without a command, doorward starts the launcher: the dashboard and, if enabled, the pico channel.
The command run also starts a program that answers messages.
With ${escaped(runRow[0])}, it is a coding agent of the Agent Client Protocol.
Options start with one or two dashes.
.SH OPTIONS
${paragraphs(launcherRows)}
.SH COMMANDS
${paragraphs(usage)}
.SS Options of every command
${paragraphs(commonRows)}
.SH EXIT STATUS
${exitCodeRows.map(([code, meaning]) => `.TP\n${code}\n${escaped(meaning)}.`).join("\n")}
.SH ENVIRONMENT
.TP
SERVICE_HOME
The folder of all files (default ~/.service).
.SH FILES
.TP
~/.service/launcher\\-config.json
Settings of the launcher.
.TP
~/.service/config.json
Settings of channels and programs.
.TP
~/.service/.security.yml
Tokens of channels.
`;
}
