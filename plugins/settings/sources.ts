type RawSettings = Readonly<Record<string, unknown>>;

/** Where sections are written and what stands above the files; made by `config/load`, or by a host. */
export interface SettingsSources {
  readonly home: string;
  /** The file of a section and the path of its object in it. */
  file(section: string): { path: string; keys: readonly string[] };
  /** Field -> environment variable that holds it. */
  managed(section: string): ReadonlyMap<string, string>;
  /** Field -> flag of the command line that holds it, `-port`. */
  flags?(section: string): ReadonlyMap<string, string>;
  /** The section as plugins get it: without tokens, the environment on top. */
  overlay(section: string, raw: RawSettings): RawSettings;
  /** The section as it was when the kernel's configuration was read, so that an edit between then and the start is
   *  seen. Without it what the file holds at the start counts as what was read. */
  loaded?(section: string): RawSettings | undefined;
}
