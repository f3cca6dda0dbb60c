/* Explains settings of PicoClaw, whose files and variables many homes still hold: each is ignored
 * with one sentence that names Doorward's own setting. Sentences name keys and never values, which
 * may be secrets. */
import { join } from "node:path";
import { readYaml } from "../../lib/files/index.ts";
import {
  channelNames,
  configKeys,
  product,
  sectionKeys,
  securityKeys,
  sharedFields,
  sharedVariables,
  variablePrefix,
  variables,
  type ForeignKeys,
} from "./table.ts";
import { objectAt } from "../../lib/util.ts";

type Raw = Readonly<Record<string, unknown>>;
type Environment = Readonly<Record<string, string | undefined>>;

/** Sentences of one file or environment at most; a home has some twenty. */
const maxSentences = 100;
const maxName = 100;

const own = (table: ForeignKeys, key: string): string | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** Names come from files: on one line, and not at any length. */
const shown = (name: string): string => name.slice(0, maxName).replace(/\p{Cc}+/gu, " ");

function sentence(file: string, path: string, advice: string): string {
  const ignored = `${file}: "${shown(path)}" is a setting of ${product} and is ignored.`;
  return advice === "" ? ignored : `${ignored} ${advice}`;
}
const reads = (key: string): string => `Doorward reads "${key}".`;
const readsToken = (channel: string): string =>
  `Doorward reads "channels.${channel}.token" in .security.yml.`;
const noChannel = "Doorward has no such channel; a plugin can add one.";

/** Whether only PicoClaw reads this key of a section. */
export const isForeignKey = (section: string, key: string): boolean =>
  own(sectionKeys[section] ?? {}, key) !== undefined;

/** Whether only PicoClaw reads this path of `config.json`: `agents`, `channels.telegram`. */
export function isForeignPath(path: string): boolean {
  const [group, name = "", ...rest] = path.split(".");
  if (path === "channel_list" || own(configKeys, path) !== undefined) return true;
  return group === "channels" && rest.length === 0 && channelNames.includes(name);
}

/** Fields of one entry of `channel_list`, or of `settings` inside it. */
function inChannel(file: string, path: string, channel: string, entry: Raw): string[] {
  return Object.entries(entry).flatMap(([key, value]) => {
    const full = `${path}.${key}`;
    if (key === "settings") return inChannel(file, full, channel, objectAt(value));
    if (key === "type") return []; // says what the entry's name says
    if (key === "token") return [sentence(file, full, readsToken(channel))];
    const isShared = sharedFields[channel]?.includes(key);
    const instead = own(sectionKeys[`channels.${channel}`] ?? {}, key) ?? "";
    return [sentence(file, full, isShared ? reads(`channels.${channel}.${key}`) : instead)];
  });
}

function inChannelList(file: string, list: unknown): string[] {
  const entries = Object.entries(objectAt(list));
  if (entries.length === 0) return [sentence(file, "channel_list", reads("channels"))];
  return entries.flatMap(([name, value]) => {
    const entry = objectAt(value);
    const { type } = entry;
    const channel = typeof type === "string" && type !== "" ? type : name;
    const path = `channel_list.${name}`;
    if (!Object.hasOwn(sharedFields, channel)) return [sentence(file, path, noChannel)];
    const found = inChannel(file, path, channel, entry);
    return found.length > 0 ? found : [sentence(file, path, reads(`channels.${channel}`))];
  });
}

function inSection(file: string, section: string, raw: Raw): string[] {
  const prefix = section === "launcher" ? "" : `${section}.`;
  return Object.entries(raw).flatMap(([key, value]) => {
    const advice = own(sectionKeys[section] ?? {}, key);
    if (advice === undefined) return [];
    const [, channel = ""] = section.split(".");
    const inner =
      key === "settings" ? inChannel(file, `${prefix}settings`, channel, objectAt(value)) : [];
    return inner.length > 0 ? inner : [sentence(file, prefix + key, advice)];
  });
}

/** Explains what only PicoClaw reads in `config.json`. `declared`: keys that a plugin reads all the
 *  same. */
export function foreignInConfig(
  file: string,
  content: Raw,
  declared: (section: string, key?: string) => boolean = () => false,
): string[] {
  const top = Object.entries(content).flatMap(([key, value]) => {
    if (key === "channel_list") return inChannelList(file, value);
    const advice = declared(key) ? undefined : own(configKeys, key);
    return advice === undefined ? [] : [sentence(file, key, advice)];
  });
  const channels = objectAt(content["channels"]);
  const unknown = Object.keys(channels)
    .filter((name) => channelNames.includes(name) && !declared(`channels.${name}`))
    .map((name) => sentence(file, `channels.${name}`, noChannel));
  const inside = Object.keys(sectionKeys).flatMap((section) => {
    if (section === "launcher") return [];
    const [group = "", name] = section.split(".");
    const raw = name === undefined ? objectAt(content[group]) : objectAt(channels[name]);
    return inSection(file, section, undeclared(raw, section, declared));
  });
  return [...top, ...unknown, ...inside].slice(0, maxSentences);
}

const undeclared = (
  raw: Raw,
  section: string,
  declared: (section: string, key?: string) => boolean,
): Raw => Object.fromEntries(Object.entries(raw).filter(([key]) => !declared(section, key)));

/** Explains what only PicoClaw reads in `launcher-config.json`. */
export const foreignInLauncher = (
  file: string,
  content: Raw,
  declared: (section: string, key?: string) => boolean = () => false,
): string[] => inSection(file, "launcher", undeclared(content, "launcher", declared));

/** Explains what only PicoClaw reads in `.security.yml`. */
export function foreignInSecurity(file: string, content: Raw): string[] {
  const found = Object.entries(content).flatMap(([key, value]) => {
    if (key === "channel_list") return inChannelList(file, value);
    const advice = own(securityKeys, key);
    return advice === undefined ? [] : [sentence(file, key, advice)];
  });
  const channels = objectAt(content["channels"]);
  const settings = Object.keys(sharedFields).flatMap((channel) =>
    inSection(file, `channels.${channel}`, objectAt(channels[channel])),
  );
  return [...found, ...settings].slice(0, maxSentences);
}

/** Explains the variables of PicoClaw in an environment. */
export function foreignVariables(env: Environment, brand = "service"): string[] {
  const names = Object.keys(env).filter(
    (name) => name.startsWith(variablePrefix) && env[name]?.trim(),
  );
  return names.slice(0, maxSentences).map((name) => {
    const rest = name.slice(variablePrefix.length);
    const instead = sharedVariables.includes(rest)
      ? `Doorward reads ${brand.toUpperCase()}_${rest}.`
      : (own(variables, name) ?? "");
    const ignored = `The environment variable ${shown(name)} is one of ${product} and is ignored.`;
    return instead === "" ? ignored : `${ignored} ${instead}`;
  });
}

/** Reads `.security.yml` of a home for `foreignInSecurity`. A file that cannot be read is the token
 *  store's to report. */
export async function foreignSecrets(home: string): Promise<string[]> {
  const file = join(home, ".security.yml");
  const content = await readYaml(file).catch(() => undefined);
  return foreignInSecurity(file, objectAt(content?.value));
}
