/** Questions that open a dialog and wait for the answer. @module */
import { signal, type ReadonlySignal } from "@preact/signals";
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
  /** Why the sign-in has ended, as a code of the server. Precedes the text. */
  readonly reason?: ReadonlySignal<string | undefined>;
  /** True if Esc and a click outside the dialog do not close it. */
  readonly keep?: boolean;
  /** Returns true if an error closes the dialog. By default, errors allow another attempt. */
  readonly endsOn?: (error: ApiError) => boolean;
}

interface OpenDialog {
  readonly id: number;
  readonly question: Confirmation | TokenQuestion<unknown>;
  /** Closes the dialog with an answer. */
  readonly done: (answer: unknown) => void;
}

let count = 0;

/** The open questions; the last one is on top. */
export const openDialogs = signal<readonly OpenDialog[]>([]);

function ask<T>(question: OpenDialog["question"]): Promise<T> {
  return new Promise((resolve) => {
    const dialog: OpenDialog = {
      id: ++count,
      question,
      done(answer) {
        openDialogs.value = openDialogs.value.filter((one) => one !== dialog);
        resolve(answer as T);
      },
    };
    openDialogs.value = [...openDialogs.value, dialog];
  });
}

/** Asks before an act. @returns True if the user chose the act. */
export const confirm = (question: Confirmation): Promise<boolean> => ask(question);

/**
 * Asks for a token and sends it until the server accepts it.
 *
 * @returns The result, or undefined if the user cancels.
 */
export const askToken = <T>(question: TokenQuestion<T>): Promise<ApiResult<T> | undefined> =>
  ask(question);
