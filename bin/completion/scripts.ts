// Writes completion scripts for bash, zsh and fish.
import type { CommandWord, OptionWord, Vocabulary } from "./vocabulary.ts";

const run: CommandWord = {
  name: "run",
  does: "Start the launcher with a program that answers messages",
  words: [],
  options: [],
};
const help: CommandWord = { name: "help", does: "Print all commands", words: [], options: [] };

const firstWords = ({ commands, options }: Vocabulary): readonly CommandWord[] => [
  { ...run, options },
  ...commands,
  help,
];

const names = (words: readonly { readonly name: string }[]): string =>
  words.map(({ name }) => name).join(" ");
/** A pattern of the options that take a file, or another value. */
function ofKind(all: readonly OptionWord[], isFile: boolean): string {
  const kind = all.filter(({ value }) => value !== undefined && (value === "FILE") === isFile);
  return [...new Set(kind.flatMap(({ name }) => [name, `-${name}`]))].join("|");
}

/** @returns A script for bash 3.2 or later: `source <(doorward completion bash)`. */
export function bashScript(words: Vocabulary): string {
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
export function zshScript(words: Vocabulary): string {
  const first = firstWords(words);
  const list = (items: readonly { readonly name: string; readonly does: string }[]): string =>
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
export function fishScript(words: Vocabulary): string {
  const option = (condition: string, { name, does, value }: OptionWord): string => {
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
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
