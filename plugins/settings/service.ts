export interface SettingsSection {
  readonly section: string;
  /** JSON Schema draft-07 of the section's input; a property with `"editable": true` can be changed here. */
  readonly schema: object;
  readonly value: unknown;
  /** Fields whose value comes from the environment. */
  readonly managedByEnv: string[];
  /** Field -> the flag of the command line that holds it, above the environment. */
  readonly managedByFlag: Readonly<Record<string, string>>;
  /** Empty while the file cannot be read. */
  readonly etag: string;
  /** Why what stands in the file is not in use; the values before stay until it is mended. */
  readonly problem?: string;
}

/** The only writer of `config.json` and of the non-token keys of `launcher-config.json`. */
export interface Settings {
  describe(): Promise<SettingsSection[]>;
  /** Validates, writes and applies the changed fields. Rejects: `field_not_editable`, `invalid_setting`,
   *  `etag_mismatch`, `store_unavailable`, or the code of the plugin that refused the change. */
  update(
    section: string,
    patch: object,
    etag: string,
  ): Promise<{ now: string[]; afterRestart: string[]; etag: string }>;
  /** Six hex digits that name this installation's cookies; undefined where the home cannot be written. */
  instance(): string | undefined;
}

export type SettingsEvents = {
  /** Every `onConfig` of the section took the change. `keys` are comma-separated; none: an edit that was refused has
   *  been taken back. */
  "settings:changed": { section: string; keys: string };
  /** A file edit was invalid or refused by a plugin; the old values stay. */
  "settings:rejected": { section: string; message: string };
};

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
