/** Questions that open a dialog and wait for the answer. @module */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { ApiError, ApiResult } from "../live/api.ts";

/** A question with one act. */
export interface Confirmation {
  readonly title: string;
  readonly text: ComponentChildren;
  /** The act, for example "Delete". */
  readonly verb: string;
  /** True if the act destroys something: the focus starts on Cancel. */
  readonly danger?: boolean;
}

/** A question that only the owner of the launcher token may answer. */
export interface TokenQuestion<T> extends Confirmation {
  /** Label of the token field. @defaultValue `"Launcher token"` */
  readonly label?: string;
  /** @defaultValue `"Cancel"` */
  readonly cancel?: string;
  /** More fields, above the token field. */
  readonly fields?: ComponentChildren;
  /** Sends the request. Undefined if `fields` are invalid and already show the problem. */
  readonly send: (token: string) => Promise<ApiResult<T>> | undefined;
  /** Returns true if an error closes the dialog. By default, errors allow another attempt. */
  readonly endsOn?: (error: ApiError) => boolean;
}

interface Open {
  readonly id: number;
  readonly confirmation?: Confirmation & { readonly done: (yes: boolean) => void };
  readonly token?: TokenQuestion<unknown> & {
    readonly done: (result: ApiResult<unknown> | undefined) => void;
  };
}

let count = 0;

/** The open questions; the last one is on top. */
export const openDialogs = signal<readonly Open[]>([]);

function open(make: (close: () => void) => Omit<Open, "id">): void {
  const id = ++count;
  const close = (): void => {
    openDialogs.value = openDialogs.value.filter((one) => one.id !== id);
  };
  openDialogs.value = [...openDialogs.value, { id, ...make(close) }];
}

/** Asks before an act. @returns True if the user chose the act. */
export function confirm(question: Confirmation): Promise<boolean> {
  return new Promise((resolve) =>
    open((close) => ({
      confirmation: {
        ...question,
        done: (yes) => {
          close();
          resolve(yes);
        },
      },
    })),
  );
}

/**
 * Asks for a token and sends it until the server accepts it.
 *
 * @returns The result, or undefined if the user cancels.
 */
export function askToken<T>(question: TokenQuestion<T>): Promise<ApiResult<T> | undefined> {
  return new Promise((resolve) =>
    open((close) => ({
      token: {
        ...question,
        done: (result) => {
          close();
          resolve(result as ApiResult<T> | undefined);
        },
      },
    })),
  );
}
