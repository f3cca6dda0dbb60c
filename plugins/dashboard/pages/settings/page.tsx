/** Settings page: sections, rows and the bar that saves. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { SettingsView } from "../../shared/views.ts";
import { useResource } from "../live/resource.ts";
import { Search } from "../parts/field.tsx";
import { Notice, PageHead } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { SaveBar } from "./save-bar.tsx";
import { fileOf, groups, type Setting } from "./form.ts";
import { FixedRow, SettingRow } from "./row.tsx";
import { useSettingsForm, type SettingsForm } from "./use-form.ts";

/** Data of the settings page. */
export interface SettingsData {
  readonly settings: SettingsView;
  /** The command of the program, or "echo"; undefined in hosts with an application of their own. */
  readonly program?: string;
  /** Id of the section in the address. */
  readonly section?: string;
}

export function SettingsPage({ data }: { readonly data: SettingsData }): JSX.Element {
  const { url } = useSite();
  const { value, refresh } = useResource("/api/settings", data.settings, {
    refreshOn: ["settings"],
  });
  const form = useSettingsForm(value, refresh);
  const [query, setQuery] = useState("");
  useSaveKey(form);
  useTarget();
  return (
    <div class="page-in">
      <PageHead
        title="Settings"
        text={
          <>
            Stored in <code>config.json</code> and <code>launcher-config.json</code>. Comments in
            the files are kept. <a href={url("/docs/configuration")}>Configuration reference</a>
          </>
        }
      />
      <FileProblems view={value.value} />
      <div class="settings">
        <Sections
          form={form}
          query={query}
          setQuery={setQuery}
          first={data.section}
          hasProgram={data.program !== undefined}
        />
        <div>
          {data.program !== undefined && query === "" && <Program command={data.program} />}
          <Groups form={form} query={query} />
          <SaveBar form={form} />
        </div>
      </div>
    </div>
  );
}

/** Shows the reason why the content of a file is not in use. */
function FileProblems({ view }: { readonly view: SettingsView }): JSX.Element | null {
  const found = view.sections.filter(({ problem }) => problem !== undefined);
  if (found.length === 0) return null;
  return (
    <div role="alert">
      {found.map(({ section, problem }) => (
        <Notice key={section} tone="warn">
          {fileOf(section)} contains an invalid change: {problem}
        </Notice>
      ))}
    </div>
  );
}

/** The program is not a setting that a page can change: a browser must not choose what runs. */
function Program({ command }: { readonly command: string }): JSX.Element {
  const { url } = useSite();
  return (
    <section class="group" id="group-program" aria-labelledby="title-program">
      <h2 id="title-program">Program</h2>
      <p>
        It answers the messages. <a href={url("/docs/programs")}>Write a program</a>
      </p>
      <div class="card">
        <div class="set fixed">
          <div>
            <p class="label">Command</p>
            <p class="hint">
              Edit <code>handler</code> in config.json, or start Doorward with{" "}
              <code>run -- PROGRAM</code>.
            </p>
          </div>
          <div class="control">
            <span class="mono">{command}</span>
          </div>
        </div>
      </div>
    </section>
  );
}

const matchesQuery = ({ name, key }: Setting, query: string): boolean =>
  `${name} ${key}`.toLowerCase().includes(query.trim().toLowerCase());

const settingsIn = ({ settings }: SettingsForm, group: string, query = ""): readonly Setting[] =>
  settings.value.filter((setting) => setting.group === group && matchesQuery(setting, query));

interface SectionsProps {
  readonly form: SettingsForm;
  readonly query: string;
  setQuery(query: string): void;
  readonly first: string | undefined;
  readonly hasProgram: boolean;
}

/** The filter and the list of sections, with a dot where something is unsaved. */
function Sections({ form, query, setQuery, first, hasProgram }: SectionsProps): JSX.Element {
  const { url } = useSite();
  const [current, setCurrent] = useState(first ?? "channel");
  useEffect(() => {
    if (first !== undefined) document.getElementById(`group-${first}`)?.scrollIntoView();
  }, []);
  const show = (event: Event, id: string): void => {
    event.preventDefault();
    setCurrent(id);
    setQuery("");
    history.replaceState(null, "", url(`/settings/${id}`));
    // The filter may have hidden the section.
    requestAnimationFrame(() => document.getElementById(`group-${id}`)?.scrollIntoView());
  };
  const shown = groups.filter(({ id }) => settingsIn(form, id).length > 0);
  const program = hasProgram ? [{ id: "program", name: "Program" }] : [];
  return (
    <div class="side">
      <Search label="Filter settings" placeholder="Name or key" value={query} onText={setQuery} />
      <nav class="sections" aria-label="Settings sections">
        {[...program, ...shown].map(({ id, name }) => (
          <a
            key={id}
            href={url(`/settings/${id}`)}
            aria-current={current === id ? "true" : undefined}
            onClick={(event) => show(event, id)}
          >
            {name}
            {form.changed.value.some(({ group }) => group === id) && (
              <i class="dot">
                <span class="unseen">unsaved</span>
              </i>
            )}
          </a>
        ))}
        {form.settings.value.some(({ section }) => section === "push") && (
          <a href={url("/settings/notifications")}>Notifications</a>
        )}
      </nav>
    </div>
  );
}

function Groups({ form, query }: { form: SettingsForm; query: string }): JSX.Element {
  const shown = groups
    .map((group) => ({ ...group, settings: settingsIn(form, group.id, query) }))
    .filter(({ settings }) => settings.length > 0);
  if (shown.length === 0) return <p class="muted">No matching settings.</p>;
  return (
    <>
      {shown.map(({ id, name, text, settings }) => (
        <section key={id} class="group" id={`group-${id}`} aria-labelledby={`title-${id}`}>
          <h2 id={`title-${id}`}>{name}</h2>
          <p>{text}</p>
          <div class="card">
            {settings.map((setting) =>
              setting.fixedBy === undefined ? (
                <SettingRow key={setting.id} setting={setting} form={form} />
              ) : (
                <FixedRow key={setting.id} setting={setting} />
              ),
            )}
          </div>
        </section>
      ))}
    </>
  );
}

/** Moves the focus to the setting that the address names, for example `#launcher-port`. */
function useTarget(): void {
  useEffect(() => {
    const focus = (): void => {
      const id = location.hash.slice(1);
      const field = id === "" ? null : document.getElementById(id);
      field?.scrollIntoView({ block: "center" });
      field?.focus();
    };
    focus();
    addEventListener("hashchange", focus);
    return () => removeEventListener("hashchange", focus);
  }, []);
}

/** Ctrl S or ⌘ S saves. */
function useSaveKey(form: SettingsForm): void {
  useEffect(() => {
    const save = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
      event.preventDefault();
      void form.save();
    };
    addEventListener("keydown", save);
    return () => removeEventListener("keydown", save);
  }, []);
}
