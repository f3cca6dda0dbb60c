// Creates the form of one settings section, and saves its changes.
import type { SettingsChangedView, SettingsSectionView } from "../api/views.ts";
import type { ApiError, ApiResult } from "./api.ts";
import { button, el, setText, show } from "./dom.ts";
import { guardedFields, originOf } from "../ui/text/token-rules.ts";
import { requestAsOwner } from "./owner.ts";
import { askForToken } from "./secret-form.ts";
import { fixedField, settingField, type SettingField } from "./settings-field.ts";
import { settingName, type FieldSchema } from "./settings-schema.ts";

export interface SectionForm {
  readonly element: HTMLElement;
  /** Sets new file values and keeps what the user typed. */
  update(view: SettingsSectionView): void;
  isChanged(): boolean;
}

interface SectionInfo {
  readonly title: string;
  readonly path: string;
  readonly file: string;
}

const sectionInfos: Readonly<Record<string, SectionInfo>> = {
  "channels.pico": { title: "Channel", path: "/api/channels/pico", file: "config.json" },
  "channels.pico_client": {
    title: "Remote channel",
    path: "/api/channels/pico_client",
    file: "config.json",
  },
  launcher: { title: "Dashboard", path: "/api/launcher", file: "launcher-config.json" },
};
const changedMessage =
  "The file changed in the meantime, so nothing was saved. Your input is still here. " +
  "Check it, then save again.";
const invalidFilePrefix = "The file contains an invalid change: ";

/** Creates the form of one section. `refresh` reloads all sections and calls `update`. */
export function sectionForm(
  view: SettingsSectionView,
  refresh: () => Promise<unknown>,
): SectionForm {
  return new SettingsSectionForm(view, refresh);
}

class SettingsSectionForm implements SectionForm {
  readonly element: HTMLElement;
  private readonly info: SectionInfo;
  private readonly id: string;
  private readonly fields: SettingField[] = [];
  private readonly fixedElements = new Map<string, HTMLElement>();
  private readonly notice = el("div", { class: "notice calm", role: "status", hidden: true });
  private readonly save = el("button", {}, "Save");
  private readonly discard = button("Discard", "quiet", () =>
    this.fields.forEach((field) => field.reset()),
  );
  private readonly summary = el("p", { class: "quiet-text push" });
  private view: SettingsSectionView;
  private readonly refresh: () => Promise<unknown>;
  private isSaving = false;

  constructor(view: SettingsSectionView, refresh: () => Promise<unknown>) {
    this.view = view;
    this.refresh = refresh;
    this.info = sectionInfos[view.section] ?? { title: view.section, path: "", file: "" };
    this.id = view.section.replace(".", "-");
    this.element = this.createForm();
    this.renderActions();
    this.showFileProblem();
  }

  isChanged(): boolean {
    return this.changedFields().length > 0;
  }

  update(next: SettingsSectionView): void {
    const { problem } = this.view;
    this.view = next;
    this.showFileProblem(problem);
    for (const field of this.fields) field.update(valueOf(next, field.key));
    for (const [key, element] of this.fixedElements) {
      const schema = propertiesOf(next)[key];
      if (!schema) continue;
      const reason = readOnlyReason(next, key, this.info.file);
      const { childNodes } = fixedField(key, schema, valueOf(next, key), reason);
      element.replaceChildren(...childNodes);
    }
    this.renderActions();
  }

  private createForm(): HTMLElement {
    const rows = this.createRows();
    const readOnly = rows.filter((row) => row.classList.contains("fixed"));
    const editable = rows.filter((row) => !readOnly.includes(row));
    const titleId = `h-${this.id}`;
    const form = el(
      "form",
      { class: "card settings", "aria-labelledby": titleId, novalidate: true },
      el(
        "div",
        { class: "card-head" },
        el("h2", { id: titleId }, this.info.title),
        el("code", { class: "quiet-text" }, this.view.section),
      ),
      el("div", { class: "setting-rows" }, ...editable),
      readOnly.length > 0 && readOnlyRows(readOnly),
      this.notice,
      this.fields.length > 0 &&
        el("div", { class: "actions" }, this.summary, this.discard, this.save),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await this.submit();
    });
    return form;
  }

  private createRows(): HTMLElement[] {
    const { view } = this;
    return Object.entries(propertiesOf(view)).map(([key, schema]) => {
      const value = valueOf(view, key);
      if (view.editable.includes(key)) {
        const onChange = (): void => this.renderActions();
        const field = settingField(`${this.id}-${key}`, key, schema, value, onChange);
        this.fields.push(field);
        return field.element;
      }
      const element = fixedField(key, schema, value, readOnlyReason(view, key, this.info.file));
      this.fixedElements.set(key, element);
      return element;
    });
  }

  private async submit(): Promise<void> {
    if (this.isSaving) return;
    const changed = this.changedFields();
    const invalid = changed.find((field) => field.read().problem !== undefined);
    if (invalid) return invalid.focus();
    const patch = Object.fromEntries(changed.map((field) => [field.key, field.read().value]));
    if (Object.keys(patch).length === 0) return;
    this.isSaving = true;
    this.renderActions();
    const names: SettingNames = (keys) =>
      keys.map((key) => settingName(key, propertiesOf(this.view)[key])).join(", ");
    const result = await saveSection(this.info, this.view, patch, names);
    this.isSaving = false;
    this.renderActions();
    if (!result) return;
    if ("error" in result) return this.showError(result.error);
    const { view } = this;
    this.view = { ...view, etag: result.body.etag, value: { ...(view.value as object), ...patch } };
    for (const field of this.fields) if (field.key in patch) field.update(patch[field.key], true);
    this.showNotice(savedMessage(result.body, names));
    await this.refresh();
  }

  private async showError({ status, message, field: key }: ApiError): Promise<void> {
    if (status !== 412) {
      const field = this.fields.find((candidate) => candidate.key === key);
      field?.showProblem(message);
      field?.focus();
      return field ? undefined : this.showNotice(message, "bad");
    }
    await this.refresh();
    this.showNotice(changedMessage, "warn");
  }

  /** Shows an invalid file until it is fixed. Keeps a message about a save. */
  private showFileProblem(previous?: string): void {
    const { problem } = this.view;
    if (problem !== undefined) this.showNotice(`${invalidFilePrefix}${problem}`, "warn");
    else if (
      previous !== undefined &&
      this.notice.textContent === `${invalidFilePrefix}${previous}`
    )
      this.showNotice("");
  }

  private showNotice(text: string, tone: "calm" | "warn" | "bad" = "calm"): void {
    this.notice.className = `notice ${tone}`;
    setText(this.notice, text);
    show(this.notice, text !== "");
  }

  private renderActions(): void {
    const count = this.changedFields().length;
    this.save.disabled = this.isSaving || count === 0;
    this.discard.disabled = count === 0;
    setText(this.summary, count === 0 ? "" : count === 1 ? "1 change" : `${count} changes`);
  }

  private changedFields(): SettingField[] {
    return this.fields.filter((field) => field.isChanged());
  }
}

function readOnlyRows(rows: readonly HTMLElement[]): HTMLElement {
  const count = rows.length === 1 ? "1 read-only setting" : `${rows.length} read-only settings`;
  return el(
    "details",
    { class: "fixed-rows" },
    el("summary", {}, count),
    el("div", { class: "setting-rows" }, ...rows),
  );
}

const propertiesOf = ({ schema }: SettingsSectionView): Record<string, FieldSchema> =>
  (schema as { properties?: Record<string, FieldSchema> }).properties ?? {};

const valueOf = ({ value }: SettingsSectionView, key: string): unknown =>
  (value as Record<string, unknown> | null)?.[key];

function readOnlyReason(
  { managedByEnv, managedByFlag }: SettingsSectionView,
  key: string,
  file: string,
): string {
  const variable = managedByEnv[key];
  const flag = managedByFlag[key];
  if (flag !== undefined) return `Set by the command-line option ${flag}.`;
  return variable === undefined
    ? `Edit ${file} to change it.`
    : `Set by the environment variable ${variable}.`;
}

/** Joins the display names of settings. */
type SettingNames = (keys: readonly string[]) => string;

/**
 * Saves changed settings. Asks for a token first if the server requires one.
 *
 * @returns The result, or undefined if the user cancels.
 */
function saveSection(
  { path }: SectionInfo,
  { etag, value }: SettingsSectionView,
  patch: Record<string, unknown>,
  names: SettingNames,
): Promise<ApiResult<SettingsChangedView> | undefined> {
  const send = (extra: object): Promise<ApiResult<SettingsChangedView>> =>
    requestAsOwner("PUT", path, { ...patch, ...extra }, etag);
  const endsOn = ({ status, code }: ApiError): boolean =>
    status !== 429 && code !== "invalid_token";
  const guarded = Object.keys(patch).filter((key) => guardedFields.has(key));
  if (guarded.length > 0) {
    return askForToken({
      title: "Save settings",
      text: `These settings control access, so they require the launcher token: ${names(guarded)}.`,
      action: "Save",
      send: (current) => send({ current }),
      endsOn,
    });
  }
  const { url: oldUrl } = (value ?? {}) as { url?: unknown };
  const { url: newUrl } = patch;
  const isRemote = path.endsWith("pico_client") && typeof newUrl === "string";
  if (isRemote && originOf(newUrl) !== originOf(oldUrl)) {
    return askForToken({
      title: "Change remote server",
      text: "The remote token will be sent to a different server. Enter the token to confirm.",
      action: "Save",
      label: "Remote token",
      send: (token) => send({ token }),
      endsOn,
    });
  }
  return send({});
}

function savedMessage({ now, afterRestart }: SettingsChangedView, names: SettingNames): string {
  const immediate = now.length > 0 && `In effect now: ${names(now)}.`;
  const later = afterRestart.length > 0 && `After a restart: ${names(afterRestart)}.`;
  return ["Saved.", immediate, later].filter(Boolean).join(" ");
}
