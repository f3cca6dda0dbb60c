// Joins the sections of the files with what the person typed, and says what is unsaved.
import type { SettingsSectionView } from "../../shared/views.ts";
import { protocolNames } from "../../shared/protocols.ts";
import {
  isNumeric,
  isSame,
  parseList,
  parseNumber,
  parseText,
  settingName,
  type FieldSchema,
  type ParsedInput,
} from "./schema.ts";
import { toUnitValue, unitsOf, type Unit } from "./units.ts";

/** A setting of a file. */
export interface Setting {
  /** Id of its field, unique on the page. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly schema: FieldSchema;
  /** Section of the file, for example `channels.pico`. */
  readonly section: string;
  /** Id of the section of the page. */
  readonly group: string;
  /** Value in the file. */
  readonly stored: unknown;
  /** Why this page cannot change it; undefined if it can. */
  readonly fixedBy?: string;
}

/** Typed content of a field. `base`: the value of the file at that time. */
export interface Draft {
  readonly base: unknown;
  readonly on?: boolean;
  readonly text?: string;
  /** Name of the chosen unit. */
  readonly unit?: string;
  readonly items?: readonly string[];
}
export type Drafts = Readonly<Record<string, Draft>>;

interface Group {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

/** The sections of the page in their order. */
export const groups: readonly Group[] = [
  { id: "channel", name: "Channel", text: "How clients reach your application." },
  { id: "limits", name: "Limits", text: "Protect the application from too much at a time." },
  { id: "access", name: "Access", text: "Clients and pages that may connect." },
  { id: "sign-in", name: "Sign-in", text: "For people who use this dashboard." },
  {
    id: "conversations",
    name: "Conversations",
    text: "Where they are stored, and for how long.",
  },
  {
    id: "protocols",
    name: "Protocols",
    text: "Other products reach your application through them. The page Clients has their tokens.",
  },
  {
    id: "shutdown",
    name: "Restart and shutdown",
    text: "How Doorward treats clients when it stops.",
  },
  {
    id: "remote",
    name: "Remote channel",
    text: "Connects this service to the channel of another one.",
  },
  {
    id: "read-only",
    name: "Read-only",
    text: "Set in a file, by the environment or on the command line.",
  },
];

/** @returns The name of the file that has a section. */
export const fileOf = (section: string): string =>
  section === "launcher" ? "launcher-config.json" : "config.json";

/** Section -> section of the page. Notifications have a page of their own. */
const ownGroups: Readonly<Record<string, string>> = { store: "conversations", push: "push" };

/** Returns all settings of all sections. */
export function settingsOf(sections: readonly SettingsSectionView[]): readonly Setting[] {
  return sections.flatMap((view) => {
    const protocol = protocolNames.find(({ section }) => section === view.section);
    const ownGroup = ownGroups[view.section] ?? (protocol && "protocols");
    const { properties = {} } = view.schema as { properties?: Record<string, FieldSchema> };
    const entries = Object.entries(properties).filter(([key]) => isUsed(view, key));
    return entries.map(([key, schema]): Setting => {
      const name = settingName(key, schema);
      const isEditable = view.editable.includes(key);
      const known = groups.some(({ id }) => id === schema.section) ? schema.section! : "channel";
      return {
        id: `${view.section.replaceAll(".", "-")}-${key}`,
        key,
        name: protocol ? `${protocol.title}: ${name}` : name,
        schema,
        section: view.section,
        group: ownGroup ?? (isEditable ? known : "read-only"),
        stored: normalize(schema, (view.value as Record<string, unknown> | null)?.[key]),
        ...(!isEditable && { fixedBy: fixedBy(view, key) }),
      };
    });
  });
}

/** Kind of the store -> its settings. Those of other kinds have no effect and are not shown. */
const storeKeys: Readonly<Record<string, readonly string[]>> = {
  sqlite: ["path", "durability", "keep_days", "max_mb"],
  redis: ["url", "sentinels", "name", "prefix", "node", "patience", "replicas", "keep_hours"],
};

function isUsed({ section, value }: SettingsSectionView, key: string): boolean {
  if (section !== "store") return true;
  const { kind } = value as { kind?: string };
  const owner = Object.keys(storeKeys).find((name) => storeKeys[name]!.includes(key));
  return owner === undefined || owner === kind;
}

/** Converts a missing value to the value of an empty field. */
function normalize(schema: FieldSchema, value: unknown): unknown {
  if (value !== undefined && value !== null) return value;
  return schema.type === "boolean" ? false : schema.type === "array" ? [] : "";
}

function fixedBy({ section, managedByEnv, managedByFlag }: SettingsSectionView, key: string) {
  const [variable, flag] = [managedByEnv[key], managedByFlag[key]];
  if (flag !== undefined) return `Set by the command-line option ${flag}.`;
  if (variable !== undefined) return `Set by the environment variable ${variable}.`;
  return `Edit ${fileOf(section)} to change it.`;
}

/** Returns the content of a field that shows `value`. */
export function draftOf({ schema }: Setting, value: unknown, base: unknown = value): Draft {
  if (schema.type === "boolean") return { base, on: value === true };
  if (schema.type === "array") return { base, items: value as readonly string[], text: "" };
  const units = unitsOf(schema.unit);
  if (units.length === 0 || typeof value !== "number") return { base, text: String(value) };
  const { text, unit } = toUnitValue(value, units);
  return { base, text, unit: unit.name };
}

/** Returns the content of a field: the typed one, else the value of the file. */
export function shownDraft(setting: Setting, drafts: Drafts): Draft {
  const draft = drafts[setting.id];
  return draft && (isTouched(setting, draft) || isSame(draft.base, setting.stored))
    ? draft
    : draftOf(setting, setting.stored);
}

export function unitOf({ schema }: Setting, { unit }: Draft): Unit | undefined {
  return unitsOf(schema.unit).find(({ name }) => name === unit);
}

/** Reads a field. A text that was typed into a list but not added yet counts as an item. */
export function read(setting: Setting, draft: Draft): ParsedInput {
  const { schema } = setting;
  const { on, text = "", items } = draft;
  if (schema.type === "boolean") return { value: on === true };
  if (items !== undefined) return parseList(schema, addItems(items, text));
  if (isNumeric(schema)) return parseNumber(schema, text, unitOf(setting, draft));
  return parseText(schema, text);
}

/** Adds the words of a text to a list, without duplicates. */
export function addItems(items: readonly string[], text: string): readonly string[] {
  const added = text.split(/[\s,]+/).filter((item) => item !== "");
  return [...new Set([...items, ...added])];
}

/** True if the field cannot be saved or differs from the value that the person began with. */
function isTouched(setting: Setting, draft: Draft): boolean {
  const { problem, value } = read(setting, draft);
  return problem !== undefined || !isSame(value, draft.base);
}

/** True if the field cannot be saved or differs from the file. */
export function isChanged(setting: Setting, drafts: Drafts): boolean {
  const draft = drafts[setting.id];
  if (draft === undefined || setting.fixedBy !== undefined) return false;
  if (!isTouched(setting, draft)) return false;
  const { problem, value } = read(setting, draft);
  return problem !== undefined || !isSame(value, setting.stored);
}

/** True if the file changed after the person began to type, to something else than they typed. */
export const hasConflict = (setting: Setting, drafts: Drafts): boolean =>
  isChanged(setting, drafts) && !isSame(drafts[setting.id]?.base, setting.stored);
