import type { SettingsChangedView, SettingsSectionView } from "../api/views.ts";
import type { Answer, Refusal } from "./api.ts";
import { button, el, setText, show } from "./dom.ts";
import { guardedFields, originOf } from "../ui/text/token-rules.ts";
import { askOwner } from "./owner.ts";
import { askForToken } from "./secret-form.ts";
import { fixedField, settingField, type SettingField } from "./settings-field.ts";
import { nameOf, type FieldSchema } from "./settings-schema.ts";

export interface SectionForm {
  readonly element: HTMLElement;
  take(view: SettingsSectionView): void;
  isChanged(): boolean;
}

interface Place {
  readonly title: string;
  readonly path: string;
  readonly file: string;
}

const places: Readonly<Record<string, Place>> = {
  "channels.pico": { title: "Pico channel", path: "/api/channels/pico", file: "config.json" },
  "channels.pico_client": {
    title: "Pico client",
    path: "/api/channels/pico_client",
    file: "config.json",
  },
  launcher: { title: "Dashboard", path: "/api/launcher", file: "launcher-config.json" },
};
const changedMeanwhile =
  "The file was changed meanwhile, and nothing was saved. What you typed is still here: " +
  "look at it, then save again.";
const notTaken = "An edit of the file was not taken: ";

/** The form of one section. `refresh` loads all sections anew, which comes back through `take`. */
export function sectionForm(
  first: SettingsSectionView,
  refresh: () => Promise<unknown>,
): SectionForm {
  let view = first;
  const place = places[view.section] ?? { title: view.section, path: "", file: "" };
  const id = view.section.replace(".", "-");
  const fields: SettingField[] = [];
  const fixed = new Map<string, HTMLElement>();
  const said = el("div", { class: "notice calm", role: "status", hidden: true });
  const save = el("button", {}, "Save");
  const discard = button("Discard", "quiet", () => fields.forEach((field) => field.reset()));
  const summary = el("p", { class: "quiet-text push" });
  const say = (text: string, tone: "calm" | "warn" | "bad" = "calm"): void => {
    said.className = `notice ${tone}`;
    setText(said, text);
    show(said, text !== "");
  };
  /** What is wrong in the file, until it is mended; what was said of a save stays. */
  const sayProblem = (before?: string): void => {
    const { problem } = view;
    if (problem !== undefined) say(`${notTaken}${problem}`, "warn");
    else if (before !== undefined && said.textContent === `${notTaken}${before}`) say("");
  };
  let isSaving = false;
  const changed = (): SettingField[] => fields.filter((field) => field.isChanged());
  const look = (): void => {
    const many = changed();
    save.disabled = isSaving || many.length === 0;
    discard.disabled = many.length === 0;
    setText(
      summary,
      many.length === 0 ? "" : many.length === 1 ? "1 change" : `${many.length} changes`,
    );
  };
  const draw = (): HTMLElement[] =>
    Object.entries(propertiesOf(view)).map(([key, schema]) => {
      const value = valueOf(view, key);
      if (view.editable.includes(key)) {
        const field = settingField(`${id}-${key}`, key, schema, value, look);
        fields.push(field);
        return field.element;
      }
      const element = fixedField(key, schema, value, reasonOf(view, key, place.file));
      fixed.set(key, element);
      return element;
    });

  const rows = draw();
  const readOnly = rows.filter((row) => row.classList.contains("fixed"));
  const form = el(
    "form",
    { class: "card settings", "aria-labelledby": `h-${id}`, novalidate: true },
    el(
      "div",
      { class: "card-head" },
      el("h2", { id: `h-${id}` }, place.title),
      el("code", { class: "quiet-text" }, view.section),
    ),
    el("div", { class: "setting-rows" }, ...rows.filter((row) => !readOnly.includes(row))),
    readOnly.length > 0 &&
      el(
        "details",
        { class: "fixed-rows" },
        el(
          "summary",
          {},
          readOnly.length === 1
            ? "1 setting that cannot be changed here"
            : `${readOnly.length} settings that cannot be changed here`,
        ),
        el("div", { class: "setting-rows" }, ...readOnly),
      ),
    said,
    fields.length > 0 && el("div", { class: "actions" }, summary, discard, save),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await send();
  });
  look();
  sayProblem();

  const send = async (): Promise<void> => {
    if (isSaving) return;
    const broken = changed().find((field) => field.read().problem !== undefined);
    if (broken) return broken.focus();
    const patch = Object.fromEntries(changed().map((field) => [field.key, field.read().value]));
    if (Object.keys(patch).length === 0) return;
    isSaving = true;
    look();
    const names = (keys: readonly string[]): string =>
      keys.map((key) => nameOf(key, propertiesOf(view)[key])).join(", ");
    const answer = await put(place, view, patch, names);
    isSaving = false;
    look();
    if (!answer) return;
    if ("refused" in answer) return refuse(answer.refused);
    // What was sent is the file's now: the fields take it when the sections are loaded again.
    view = { ...view, etag: answer.body.etag, value: { ...(view.value as object), ...patch } };
    for (const field of fields) if (field.key in patch) field.take(patch[field.key], true);
    say(savedWords(answer.body, names));
    await refresh();
  };
  const refuse = async ({ status, message, field }: Refusal): Promise<void> => {
    if (status !== 412) {
      const named = fields.find(({ key }) => key === field);
      named?.complain(message);
      named?.focus();
      return named ? undefined : say(message, "bad");
    }
    await refresh();
    say(changedMeanwhile, "warn");
  };
  return {
    element: form,
    isChanged: () => changed().length > 0,
    take(next) {
      const { problem } = view;
      view = next;
      sayProblem(problem);
      for (const field of fields) field.take(valueOf(next, field.key));
      for (const [key, element] of fixed) {
        const schema = propertiesOf(next)[key];
        const reason = reasonOf(next, key, place.file);
        if (schema)
          element.replaceChildren(
            ...fixedField(key, schema, valueOf(next, key), reason).childNodes,
          );
      }
      look();
    },
  };
}

const propertiesOf = ({ schema }: SettingsSectionView): Record<string, FieldSchema> =>
  (schema as { properties?: Record<string, FieldSchema> }).properties ?? {};

const valueOf = ({ value }: SettingsSectionView, key: string): unknown =>
  (value as Record<string, unknown> | null)?.[key];

function reasonOf(
  { managedByEnv, managedByFlag }: SettingsSectionView,
  key: string,
  file: string,
): string {
  const variable = managedByEnv[key];
  const flag = managedByFlag[key];
  if (flag !== undefined) return `The launcher was started with ${flag}, which holds it.`;
  return variable === undefined
    ? `Only ${file} can change it.`
    : `The environment variable ${variable} holds it.`;
}

/** What a page calls these settings. */
type Names = (keys: readonly string[]) => string;
type Saved = Answer<SettingsChangedView> | undefined;

/** Asks for a token where the server would; undefined when the person gives up. */
function put(
  { path }: Place,
  { etag, value }: SettingsSectionView,
  patch: Record<string, unknown>,
  names: Names,
): Promise<Saved> {
  const send = (extra: object): Promise<Answer<SettingsChangedView>> =>
    askOwner("PUT", path, { ...patch, ...extra }, etag);
  const endsOn = ({ status, code }: Refusal): boolean => status !== 429 && code !== "invalid_token";
  const asked = Object.keys(patch).filter((key) => guardedFields.has(key));
  if (asked.length > 0) {
    return askForToken({
      title: "Save the settings",
      text: `The launcher token is asked for again, since this decides who gets in: ${names(asked)}.`,
      action: "Save",
      send: (current) => send({ current }),
      endsOn,
    });
  }
  const { url: before } = (value ?? {}) as { url?: unknown };
  if (
    path.endsWith("pico_client") &&
    typeof patch["url"] === "string" &&
    originOf(patch["url"]) !== originOf(before)
  ) {
    return askForToken({
      title: "Connect to another place",
      text: "The remote token would be sent to another server than before. Type it again to show that you know it.",
      action: "Save",
      label: "Remote token",
      send: (token) => send({ token }),
      endsOn,
    });
  }
  return send({});
}

function savedWords({ now, afterRestart }: SettingsChangedView, names: Names): string {
  const atOnce = now.length > 0 && `In effect now: ${names(now)}.`;
  const later = afterRestart.length > 0 && `After a restart: ${names(afterRestart)}.`;
  return ["Saved.", atOnce, later].filter(Boolean).join(" ");
}
