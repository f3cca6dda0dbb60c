/** Types of the backup service. */
import type { BackupConfig, BackupInput } from "./config.ts";

/** A backup that was written and read again. */
export interface MadeBackup {
  /** Path of the archive. */
  readonly file: string;
  /** Its size. */
  readonly bytes: number;
  /** Absent if the conversations are not in a file. */
  readonly conversations?: number;
}

/** The latest backup of a home, and the latest failure. */
export interface BackupHistory {
  /** The latest good backup, with its time in Unix milliseconds. */
  readonly last?: MadeBackup & { readonly at: number };
  /** The attempt after it that failed, and the reason with its fix. */
  readonly failed?: { readonly at: number; readonly reason: string };
}

/** The state of backups, for pages and commands. */
export interface BackupView extends BackupHistory {
  /** Hours between backups; 0: none are made by the launcher. */
  readonly every: number;
  /** The folder of backups. */
  readonly folder: string;
  /** True while one is made. */
  readonly running: boolean;
  /** Milliseconds after which the next one is late. */
  readonly lateMs: number;
}

/** The service of the plugin. */
export interface Backups {
  /** Reads the present state. */
  view(): Promise<BackupView>;
  /** Paths of the home as this process knows them, for the command that makes a backup. */
  places(): object;
}

/** The plugin's configuration and service. */
export type BackupShape = {
  /** The validated section `backup`. */
  config: BackupConfig;
  /** The section as users write it. */
  section: { backup: BackupInput };
  /** The state of backups. */
  offers: { backups: Backups };
};
