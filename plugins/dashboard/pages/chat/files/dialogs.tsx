/** The dialogs about files: the list of a conversation, and one file above the page. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FilesView } from "../../../shared/file-views.ts";
import { formatBytes } from "../../../shared/format.ts";
import { useResource } from "../../live/resource.ts";
import { IconButton } from "../../parts/button.tsx";
import { Code } from "../../parts/code.tsx";
import { Modal } from "../../parts/modal.tsx";
import { Empty, Problem, Skeleton } from "../../parts/states.tsx";
import type { ShownFile } from "../state/thread.ts";
import { languageOf } from "./file-kind.ts";
import { DownloadLink, Files } from "./file-view.tsx";
import { isListOpen, openedFile, type OpenedFile } from "./opened.ts";
import { fileAddress } from "./stored-file.ts";

/** The open dialogs. The viewer is above the list. */
export function FileDialogs({ session }: { readonly session: string }): JSX.Element {
  return (
    <>
      {isListOpen.value && <FileList key={session} session={session} />}
      {openedFile.value && <Viewer {...openedFile.value} />}
    </>
  );
}

type FileView = FilesView["files"][number];

const toShown = ({ id, filename, content_type: type, size }: FileView): ShownFile => ({
  id,
  url: fileAddress(id),
  name: filename,
  type,
  size,
});

function FileList({ session }: { readonly session: string }): JSX.Element {
  const path = `/api/media?${new URLSearchParams({ session })}`;
  const { value, error, refresh } = useResource<FilesView | undefined>(path, undefined);
  const files = value.value?.files.map(toShown).toReversed();
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
        {!files && !error.value && <Skeleton rows={3} />}
        {!files && error.value && (
          <Problem title="The files could not be loaded" error={error.value} retry={refresh} />
        )}
        {files?.length === 0 && (
          <Empty icon="paperclip" title="No files yet">
            Attach files to a message. Files of the application appear here, too.
          </Empty>
        )}
        {files && files.length > 0 && (
          <>
            <Files files={files} />
            <p class="muted xs">
              The newest first. A file that no message names is deleted after 24 hours.
            </p>
          </>
        )}
      </div>
    </Modal>
  );
}

/** Bytes of a text that are shown. */
const maxTextBytes = 256 * 1024;

function Viewer({ file, others }: OpenedFile): JSX.Element {
  const { url = "", name, size } = file;
  const at = others.indexOf(file);
  const show = (to: number): void => {
    const next = others[to];
    if (next) openedFile.value = { file: next, others };
  };
  const close = (): void => {
    openedFile.value = undefined;
  };
  const onKeyDown = ({ key }: KeyboardEvent): void => {
    if (key === "ArrowRight") show(at + 1);
    if (key === "ArrowLeft") show(at - 1);
  };
  const title = name || "Image";
  const language = languageOf(file);
  return (
    <Modal label={title} kind="viewer" onClose={close}>
      <div class="viewer-in" onKeyDown={onKeyDown}>
        <header>
          <h2 class="cut grow">{title}</h2>
          <span class="muted xs num hide-phone">{size !== undefined && formatBytes(size)}</span>
          {others.length > 1 && (
            <>
              <IconButton
                icon="chevron-left"
                label="Previous image"
                aria-disabled={at === 0}
                onClick={() => show(at - 1)}
              />
              <span class="num xs">
                {at + 1} / {others.length}
              </span>
              <IconButton
                icon="chevron-right"
                label="Next image"
                aria-disabled={at === others.length - 1}
                onClick={() => show(at + 1)}
              />
            </>
          )}
          <DownloadLink url={url} name={title} />
          <IconButton icon="x" label="Close" data-autofocus onClick={close} />
        </header>
        {language === undefined ? (
          <ImageStage key={url} file={file} />
        ) : (
          <TextStage key={url} file={file} language={language} />
        )}
      </div>
    </Modal>
  );
}

/** Fits the window. A click shows the image in its own size. */
function ImageStage({ file: { url, name } }: { readonly file: ShownFile }): JSX.Element {
  const [isFull, setFull] = useState(false);
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return <p class="stage">This image can't be shown. Download it instead.</p>;
  return (
    <button
      type="button"
      class={`stage${isFull ? " full" : ""}`}
      aria-label={isFull ? "Fit the window" : "Show actual size"}
      onClick={() => setFull(!isFull)}
    >
      <img src={url} alt={name || "Image"} onError={() => setBroken(true)} />
    </button>
  );
}

type ReadText = { readonly text: string; readonly isCut: boolean } | { readonly problem: string };

/** Reads the beginning of a text file. */
async function readText({ url = "", size }: ShownFile): Promise<ReadText> {
  // A range of an empty file does not exist.
  if (size === 0) return { text: "", isCut: false };
  try {
    const headers = { range: `bytes=0-${maxTextBytes - 1}` };
    const response = await fetch(url, { headers });
    if (response.status === 404) return { problem: "This file is no longer available." };
    if (!response.ok) return { problem: "The file could not be read. Open it again." };
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.includes(0)) return { problem: "This file is not a text. Download it instead." };
    const total = Number(response.headers.get("content-range")?.split("/").at(-1) ?? bytes.length);
    return { text: new TextDecoder().decode(bytes), isCut: total > bytes.length };
  } catch {
    return { problem: "The service does not respond. Open the file again." };
  }
}

function TextStage({ file, language }: { file: ShownFile; language: string }): JSX.Element {
  const [read, setRead] = useState<ReadText>();
  useEffect(() => {
    let isCurrent = true;
    void readText(file).then((found) => {
      if (isCurrent) setRead(found);
    });
    return () => {
      isCurrent = false;
    };
  }, []);
  if (!read) return <Skeleton rows={6} />;
  if ("problem" in read)
    return (
      <p class="problem" role="alert">
        {read.problem}
      </p>
    );
  return (
    <div class="text prose">
      <Code language={language} text={read.text} title={language || "text"} />
      {read.isCut && (
        <p class="muted">
          These are the first {formatBytes(maxTextBytes)}. Download the file to read the rest.
        </p>
      )}
    </div>
  );
}
