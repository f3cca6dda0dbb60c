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
