export type SettingsEvents = {
  /** Every `onConfig` of the section took the change. `keys` are comma-separated; none: an edit that was refused has
   *  been taken back. */
  "settings:changed": { section: string; keys: string };
  /** A file edit was invalid or refused by a plugin; the old values stay. */
  "settings:rejected": { section: string; message: string };
};
