// State of the settings form: typed values, problems, and saving.
import type { Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SettingsChangedView, SettingsSectionView, SettingsView } from "../../shared/views.ts";
import { toast } from "../frame/toasts.ts";
import {
  type Draft,
  draftOf,
  type Drafts,
  files,
  isChanged,
  read,
  type Setting,
  settingsOf,
  shownDraft,
} from "./form.ts";
import { askToken } from "../frame/dialogs.ts";
import type { ApiError, ApiResult } from "../live/api.ts";
import { requestAsOwner } from "../live/owner.ts";
import { guardedFields, originOf } from "../../shared/token-rules.ts";

const storageKey = "settings-drafts";
const changedMessage =
  "The file changed in the meantime, so nothing was saved. Your input is still here. " +
  "Check it, then save again.";

/** Problems by the id of the setting. */
type Problems = Readonly<Record<string, string>>;

interface Message {
  readonly tone: "warn" | "bad";
  readonly text: string;
}

/** The form of the page. */
export interface SettingsForm {
  readonly settings: readonly Setting[];
  readonly changed: readonly Setting[];
  readonly drafts: Drafts;
  readonly problems: Problems;
  readonly message: Message | undefined;
  readonly isSaving: boolean;
  readonly actions: FormActions;
}

interface FormActions {
  edit(setting: Setting, change: Partial<Draft>): void;
  /** Shows the problem of a field that the person leaves. */
  check(setting: Setting): void;
  /** Puts a value into a field; the value of the file by default. */
  reset(setting: Setting, value?: unknown): void;
  /** Keeps what was typed, although the file changed. */
  keep(setting: Setting): void;
  discard(): void;
  save(): Promise<void>;
}

/** Creates the form over the newest settings of the server. */
export function useSettingsForm(
  view: Signal<SettingsView | undefined>,
  refresh: () => Promise<unknown>,
): SettingsForm {
  const [drafts, setDrafts] = useStoredDrafts();
  const [problems, setProblems] = useState<Problems>({});
  const [message, setMessage] = useState<Message>();
  const [isSaving, setSaving] = useState(false);
  const settings = settingsOf(view.value?.sections ?? []);
  const changed = settings.filter((setting) => isChanged(setting, drafts));
  const without = <T>(record: Readonly<Record<string, T>>, id: string): Record<string, T> => {
    const { [id]: _, ...rest } = record;
    return rest;
  };
  const set = (setting: Setting, draft: Draft): void => {
    setDrafts((all) => ({ ...all, [setting.id]: draft }));
    setProblems((all) => without(all, setting.id));
  };
  useUnsavedWarning(changed.length > 0);
  return {
    settings,
    changed,
    drafts,
    problems,
    message,
    isSaving,
    actions: {
      edit: (setting, change) => set(setting, { ...shownDraft(setting, drafts), ...change }),
      check(setting) {
        const { problem } = read(setting, shownDraft(setting, drafts));
        if (problem !== undefined) setProblems((all) => ({ ...all, [setting.id]: problem }));
      },
      reset: (setting, value = setting.stored) =>
        set(setting, draftOf(setting, value, setting.stored)),
      keep: (setting) => set(setting, { ...shownDraft(setting, drafts), base: setting.stored }),
      discard() {
        setDrafts(() => ({}));
        setProblems({});
        setMessage(undefined);
      },
      async save() {
        if (isSaving || changed.length === 0) return;
        const wrong = Object.fromEntries(
          changed.flatMap((setting) => {
            const { problem } = read(setting, shownDraft(setting, drafts));
            return problem === undefined ? [] : [[setting.id, problem]];
          }),
        );
        setProblems(wrong);
        const [first] = Object.keys(wrong);
        if (first !== undefined) return document.getElementById(first)?.focus();
        setSaving(true);
        setMessage(undefined);
        await saveAll({ view, changed, drafts, refresh, setDrafts, setProblems, setMessage });
        setSaving(false);
      },
    },
  };
}

interface SaveOptions {
  readonly view: Signal<SettingsView | undefined>;
  readonly changed: readonly Setting[];
  readonly drafts: Drafts;
  readonly refresh: () => Promise<unknown>;
  readonly setDrafts: (change: (drafts: Drafts) => Drafts) => void;
  readonly setProblems: (problems: Problems) => void;
  readonly setMessage: (message: Message) => void;
}

/** Saves the changed settings, one request for each section of the files. */
async function saveAll(options: SaveOptions): Promise<void> {
  const { view, changed, drafts, setDrafts } = options;
  let count = 0;
  const afterRestart: string[] = [];
  for (const section of new Set(changed.map((setting) => setting.section))) {
    const own = changed.filter((setting) => setting.section === section);
    const current = view.value?.sections.find((each) => each.section === section);
    if (!current) continue;
    const patch = Object.fromEntries(
      own.map((setting) => [setting.key, read(setting, shownDraft(setting, drafts)).value]),
    );
    const names = Object.fromEntries(own.map(({ key, name }) => [key, name]));
    const result = await saveSection(current, patch, names);
    if (!result) break;
    if ("error" in result) {
      await showError(options, own, result.error);
      break;
    }
    count += own.length;
    afterRestart.push(...result.body.afterRestart.map((key) => names[key] ?? key));
    const value = { ...(current.value as object), ...patch };
    const saved: SettingsSectionView = { ...current, etag: result.body.etag, value };
    view.value = {
      sections: view.value!.sections.map((each) => (each === current ? saved : each)),
    };
    setDrafts((all) => afterSave(all, own, drafts));
  }
  if (count === 0) return;
  toast({ text: savedText(count, afterRestart) });
  // The save bar has gone, and with it the focus.
  const { activeElement, body } = document;
  if (count === changed.length && (activeElement === body || activeElement?.closest(".save")))
    document.getElementById(changed[0]!.id)?.focus({ preventScroll: true });
  await options.refresh();
}

/** Removes saved drafts. A field edited during the request now differs from the saved value. */
function afterSave(all: Drafts, own: readonly Setting[], sent: Drafts): Drafts {
  const rest = { ...all };
  for (const setting of own) {
    const now = rest[setting.id];
    if (now === sent[setting.id]) delete rest[setting.id];
    else if (now) rest[setting.id] = { ...now, base: read(setting, sent[setting.id]!).value };
  }
  return rest;
}

async function showError(
  { refresh, setProblems, setMessage }: SaveOptions,
  own: readonly Setting[],
  { status, message, field }: { status: number; message: string; field?: string },
): Promise<void> {
  const setting = own.find(({ key }) => key === field);
  if (status === 412) {
    await refresh();
    setMessage({ tone: "warn", text: changedMessage });
  } else if (setting) {
    setProblems({ [setting.id]: message });
    document.getElementById(setting.id)?.focus();
  } else setMessage({ tone: "bad", text: message });
}

/** Typed values survive a reload of the page. */
function useStoredDrafts(): [Drafts, (change: (drafts: Drafts) => Drafts) => void] {
  const [drafts, setDrafts] = useState<Drafts>({});
  const isRestored = useRef(false);
  useEffect(() => {
    try {
      setDrafts(JSON.parse(sessionStorage.getItem(storageKey) ?? "{}") as Drafts);
    } catch {
      sessionStorage.removeItem(storageKey);
    }
  }, []);
  useEffect(() => {
    if (isRestored.current) sessionStorage.setItem(storageKey, JSON.stringify(drafts));
    isRestored.current = true;
  }, [drafts]);
  return [drafts, setDrafts];
}

function useUnsavedWarning(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return undefined;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isUnsaved]);
}

type Patch = Readonly<Record<string, unknown>>;
type Saved = ApiResult<SettingsChangedView>;

/** Errors of the token keep the dialog open; others concern the settings. */
const endsOn = ({ status, code }: ApiError): boolean => status !== 429 && code !== "invalid_token";

/**
 * Saves changed settings of one section.
 *
 * @param names - Names of the changed settings by key, for the dialog.
 * @returns The result, or undefined if the user cancels.
 */
async function saveSection(
  { section, etag, value }: SettingsSectionView,
  patch: Patch,
  names: Readonly<Record<string, string>>,
): Promise<Saved | undefined> {
  const path = files[section]?.path ?? "";
  const send = (extra: object): Promise<Saved> =>
    requestAsOwner("PUT", path, { ...patch, ...extra }, etag);
  const guarded = Object.keys(patch).filter((key) => guardedFields.has(key));
  if (guarded.length > 0) {
    const list = guarded.map((key) => names[key] ?? key).join(", ");
    return askToken({
      title: "Save settings",
      text: `These settings control access, so they require the launcher token: ${list}.`,
      verb: "Save",
      send: (current) => send({ current }),
      endsOn,
    });
  }
  const { url: oldUrl } = (value ?? {}) as { url?: unknown };
  const { url: newUrl } = patch;
  const isRemote = section === "channels.pico_client" && typeof newUrl === "string";
  if (isRemote && originOf(newUrl) !== originOf(oldUrl)) {
    return askToken({
      title: "Change remote server",
      text: "The remote token will be sent to a different server. Enter the token to confirm.",
      verb: "Save",
      label: "Remote token",
      send: (token) => send({ token }),
      endsOn,
    });
  }
  return send({});
}

/** Says what was saved and what takes effect later. */
function savedText(count: number, afterRestart: readonly string[]): string {
  const saved = count === 1 ? "1 setting saved" : `${count} settings saved`;
  if (afterRestart.length === 0) return saved;
  const verb = afterRestart.length === 1 ? "takes" : "take";
  return `${saved}. ${afterRestart.join(", ")} ${verb} effect after a restart.`;
}
