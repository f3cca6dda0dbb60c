/** The dialogs about files. Loaded after the page. @module */
import type { JSX } from "preact";
import { FileList } from "./file-list.tsx";
import { isListOpen, openedFile } from "./opened.ts";
import { Viewer } from "./viewer.tsx";

/** The open dialogs. The viewer is above the list. */
export function FileDialogs({ session }: { readonly session: string }): JSX.Element {
  return (
    <>
      {isListOpen.value && <FileList key={session} session={session} />}
      {openedFile.value && <Viewer {...openedFile.value} />}
    </>
  );
}
