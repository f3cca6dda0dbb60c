/** Types and events of the settings service. */

/** One section of the configuration, as pages and commands show it. */
export interface SettingsSection {
  /** Path with dots, for example `channels.pico`; `launcher` is `launcher-config.json`. */
  readonly section: string;
  /** JSON Schema (draft-07) of the section. Properties with `"editable": true` can be changed. */
  readonly schema: object;
  /**
   * The value in use, with defaults filled in and overridden by environment and flags. Contains no
   * token.
   */
  readonly value: unknown;
  /** Fields whose value comes from the environment. */
  readonly managedByEnv: string[];
  /** Field -> the command-line flag that sets it; flags override the environment. */
  readonly managedByFlag: Readonly<Record<string, string>>;
  /** Empty while the file cannot be read. */
  readonly etag: string;
  /** Why the content of the file is not in use. The previous values stay until it is fixed. */
  readonly problem?: string;
}

/** The settings service: the only writer of `config.json` and of the non-token keys of
 *  `launcher-config.json`. */
export interface Settings {
  /** @returns All sections, with their current values. */
  describe(): Promise<SettingsSection[]>;
  /**
   * Validates, writes and applies the changed fields. A plugin that rejects the change adds its own
   * error code.
   *
   * @param patch - The changed fields only.
   * @param etag - Version of the section that the caller read.
   * @param options.fields - Fields that may change although pages cannot change them: for commands
   *   of the owner.
   * @returns Fields in use now, fields in use after a restart, and the new etag.
   * @throws field_not_editable if a field cannot be changed.
   * @throws invalid_setting if a value is invalid or set by the environment.
   * @throws etag_mismatch if the section changed in the meantime.
   * @throws store_unavailable if the file cannot be written.
   */
  update(
    section: string,
    patch: object,
    etag: string,
    options?: { readonly fields?: readonly string[] },
  ): Promise<{ now: string[]; afterRestart: string[]; etag: string }>;
  /** @returns Six hex digits that name the cookies of this installation, or undefined if the home
   *  is not writable. */
  instance(): string | undefined;
}

/** Events of the settings plugin. */
export type SettingsEvents = {
  /**
   * Every `onConfig` of the section accepted the change. `section`: its path with dots. `keys`: a
   * comma-separated list of fields; empty if a rejected edit of the file was undone.
   */
  "settings:changed": { section: string; keys: string };
  /**
   * An edit of the file was invalid, or a plugin rejected it; the previous values stay. `section`:
   * its path with dots. `message`: a sentence for the owner that names the field.
   */
  "settings:rejected": { section: string; message: string };
};

type RawSettings = Readonly<Record<string, unknown>>;

/** Locations of the sections and the values that override the files. `config/load` or a host
 *  creates them. */
export interface SettingsSources {
  /** Absolute path of the home directory. */
  readonly home: string;
  /** The file of a section and the path of its object in that file. */
  file(section: string): { path: string; keys: readonly string[] };
  /** Field -> environment variable that sets it. */
  managed(section: string): ReadonlyMap<string, string>;
  /** Field -> command-line flag that sets it, such as `-port`. */
  flags?(section: string): ReadonlyMap<string, string>;
  /** The section as plugins receive it: without tokens, overridden by the environment. */
  overlay(section: string, raw: RawSettings): RawSettings;
  /** The section as the kernel's configuration was loaded, so that an edit between loading and
   *  start is noticed. Without it, the content of the file at start counts as loaded. */
  loaded?(section: string): RawSettings | undefined;
}
