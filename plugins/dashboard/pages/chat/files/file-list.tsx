/** The dialog with the files of a conversation. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FilesView } from "../../../shared/file-views.ts";
import type { ApiError } from "../../live/api.ts";
import { requestAsOwner } from "../../live/owner.ts";
import { IconButton } from "../../parts/button.tsx";
import { Modal } from "../../parts/modal.tsx";
import { Empty, Problem, Skeleton } from "../../parts/states.tsx";
import type { ShownFile } from "../state/thread.ts";
import { Files } from "./file-view.tsx";
import { isListOpen } from "./opened.ts";
import { fileAddress } from "./stored-file.ts";

type FileView = FilesView["files"][number];

const toShown = ({ id, filename, content_type: type, size }: FileView): ShownFile => ({
  id,
  url: fileAddress(id),
  name: filename,
  type,
  size,
});

type Found = { readonly files: readonly ShownFile[] } | { readonly error: ApiError };

async function find(session: string): Promise<Found> {
  const answer = await requestAsOwner<FilesView>(
    "GET",
    `/api/media?${new URLSearchParams({ session })}`,
  );
  return "error" in answer ? answer : { files: answer.body.files.map(toShown).toReversed() };
}

export function FileList({ session }: { readonly session: string }): JSX.Element {
  const [found, setFound] = useState<Found>();
  const load = (): void => void find(session).then(setFound);
  useEffect(load, [session]);
  const close = (): void => {
    isListOpen.value = false;
  };
  return (
    <Modal label="Files of this conversation" kind="wide" onClose={close}>
      <div class="in file-list">
        <header>
          <h2 class="grow">Files of this conversation</h2>
          <IconButton icon="x" label="Close" data-autofocus onClick={close} />
        </header>
        {!found && <Skeleton rows={3} />}
        {found && "error" in found && (
          <Problem title="The files could not be loaded" error={found.error} retry={load} />
        )}
        {found && "files" in found && found.files.length === 0 && (
          <Empty icon="paperclip" title="No files yet">
            Attach files to a message. Files of the application appear here, too.
          </Empty>
        )}
        {found && "files" in found && found.files.length > 0 && (
          <>
            <Files files={found.files} />
            <p class="muted xs">
              The newest first. A file that no message names is deleted after 24 hours.
            </p>
          </>
        )}
      </div>
    </Modal>
  );
}
