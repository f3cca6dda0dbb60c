// State of the settings form: typed values, problems, and saving.
import { computed, signal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { SettingsChangedView, SettingsSectionView, SettingsView } from "../../shared/views.ts";
import { toast } from "../frame/toasts.ts";
import {
  type Draft,
  draftOf,
  type Drafts,
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

/** The form over the newest settings of the server. */
export class SettingsForm {
  readonly drafts = signal<Drafts>({});
  readonly problems = signal<Problems>({});
  readonly message = signal<Message | undefined>(undefined);
  readonly isSaving = signal(false);
  readonly settings = computed(() => settingsOf(this.view.value.sections));
  readonly changed = computed(() =>
    this.settings.value.filter((setting) => isChanged(setting, this.drafts.value)),
  );
  private readonly view: Signal<SettingsView>;
  private readonly refresh: () => Promise<unknown>;

  constructor(view: Signal<SettingsView>, refresh: () => Promise<unknown>) {
    this.view = view;
    this.refresh = refresh;
  }

  edit(setting: Setting, change: Partial<Draft>): void {
    const { [setting.id]: _, ...others } = this.problems.value;
    const draft = { ...shownDraft(setting, this.drafts.value), ...change };
    this.drafts.value = { ...this.drafts.value, [setting.id]: draft };
    this.problems.value = others;
  }

  /** Shows the problem of a field that the person leaves. */
  check(setting: Setting): void {
    const { problem } = read(setting, shownDraft(setting, this.drafts.value));
    if (problem !== undefined)
      this.problems.value = { ...this.problems.value, [setting.id]: problem };
  }

  /** Puts a value into a field; the value of the file by default. */
  reset(setting: Setting, value = setting.stored): void {
    this.edit(setting, draftOf(setting, value, setting.stored));
  }

  /** Keeps what was typed, although the file changed. */
  keep(setting: Setting): void {
    this.edit(setting, { base: setting.stored });
  }

  discard(): void {
    this.drafts.value = {};
    this.problems.value = {};
    this.message.value = undefined;
  }

  async save(): Promise<void> {
    const changed = this.changed.value;
    if (this.isSaving.value || changed.length === 0) return;
    const wrong = changed.flatMap((setting) => {
      const { problem } = read(setting, shownDraft(setting, this.drafts.value));
      return problem === undefined ? [] : [[setting.id, problem] as const];
    });
    this.problems.value = Object.fromEntries(wrong);
    const [first] = wrong;
    if (first) return document.getElementById(first[0])?.focus();
    this.isSaving.value = true;
    this.message.value = undefined;
    await this.saveAll(changed);
    this.isSaving.value = false;
  }

  /** Saves the changed settings, one request for each section of the files. */
  private async saveAll(changed: readonly Setting[]): Promise<void> {
    const drafts = this.drafts.value;
    let count = 0;
    const afterRestart: string[] = [];
    for (const section of new Set(changed.map((setting) => setting.section))) {
      const own = changed.filter((setting) => setting.section === section);
      const current = this.view.value.sections.find((each) => each.section === section);
      if (!current) continue;
      const patch = Object.fromEntries(
        own.map((setting) => [setting.key, read(setting, shownDraft(setting, drafts)).value]),
      );
      const names = Object.fromEntries(own.map(({ key, name }) => [key, name]));
      const result = await saveSection(current, patch, names);
      if (!result) break;
      if ("error" in result) {
        await this.showError(own, result.error);
        break;
      }
      count += own.length;
      afterRestart.push(...result.body.afterRestart.map((key) => names[key] ?? key));
      const value = { ...(current.value as object), ...patch };
      const saved: SettingsSectionView = { ...current, etag: result.body.etag, value };
      this.view.value = {
        sections: this.view.value.sections.map((each) => (each === current ? saved : each)),
      };
      this.drafts.value = afterSave(this.drafts.value, own, drafts);
    }
    if (count === 0) return;
    toast({ text: savedText(count, afterRestart) });
    // The save bar has gone, and with it the focus.
    const { activeElement, body } = document;
    if (count === changed.length && (activeElement === body || activeElement?.closest(".save")))
      document.getElementById(changed[0]!.id)?.focus({ preventScroll: true });
    await this.refresh();
  }

  private async showError(
    own: readonly Setting[],
    { status, message, field }: ApiError,
  ): Promise<void> {
    const setting = own.find(({ key }) => key === field);
    if (status === 412) {
      await this.refresh();
      this.message.value = { tone: "warn", text: changedMessage };
    } else if (setting) {
      this.problems.value = { [setting.id]: message };
      document.getElementById(setting.id)?.focus();
    } else this.message.value = { tone: "bad", text: message };
  }
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

/** Creates the form of the page. Typed values survive a reload of the page. */
export function useSettingsForm(
  view: Signal<SettingsView>,
  refresh: () => Promise<unknown>,
): SettingsForm {
  const form = useMemo(() => new SettingsForm(view, refresh), []);
  const drafts = form.drafts.value;
  const isRestored = useRef(false);
  useEffect(() => {
    form.drafts.value = { ...readDrafts(), ...form.drafts.value };
  }, []);
  useEffect(() => {
    if (isRestored.current) keepDrafts(drafts);
    isRestored.current = true;
  }, [drafts]);
  useUnsavedWarning(form.changed.value.length > 0);
  return form;
}

function readDrafts(): Drafts {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? "{}") as Drafts;
  } catch {
    return {};
  }
}

function keepDrafts(drafts: Drafts): void {
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(drafts));
  } catch {
    // The browser denies storage, or it is full.
  }
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
  const path = `/api/${section.replace(".", "/")}`;
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
