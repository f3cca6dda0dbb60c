/** Files of a message: previews of what is safe, and links to the others. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { formatBytes } from "../../../shared/format.ts";
import type { ShownFile } from "../state/thread.ts";
import { isInlineImage, languageOf, mayBeShown } from "./file-kind.ts";
import { openedFile } from "./opened.ts";
import { isKnownImage, shownTypeOf } from "./stored-file.ts";

interface FileProps {
  readonly file: ShownFile;
}

interface ImageProps extends FileProps {
  /** All files of the message. */
  readonly files: readonly ShownFile[];
}

/** Draws images, and links to other files. Images of other servers are not loaded. */
export function Files({ files }: { readonly files: readonly ShownFile[] }): JSX.Element | null {
  if (files.length === 0) return null;
  return (
    <div class="files">
      {files.map((file, at) =>
        isInlineImage(file) ? (
          <ImageView key={at} file={file} files={files} />
        ) : file.id !== undefined ? (
          <StoredView key={file.id} file={file} files={files} />
        ) : (
          <OtherView key={at} file={file} />
        ),
      )}
    </div>
  );
}

function ImageView({ file, files }: ImageProps): JSX.Element {
  const name = file.name || "Image";
  const open = (): void => {
    const others = files.filter((one) => isInlineImage(one) || isKnownImage(one.id));
    openedFile.value = { file, others };
  };
  return (
    <button type="button" class="image" title={`Open ${name}`} onClick={open}>
      <img class="attached" src={file.url} alt={name} decoding="async" />
    </button>
  );
}

/** @returns Undefined until the server has answered. */
function useShownType(file: ShownFile): string | undefined {
  const { id = "" } = file;
  const isCandidate = mayBeShown(file);
  const [type, setType] = useState<string | undefined>(isCandidate ? undefined : "download");
  useEffect(() => {
    let isCurrent = true;
    if (isCandidate)
      void shownTypeOf(id).then((found) => {
        if (isCurrent) setType(found);
      });
    return () => {
      isCurrent = false;
    };
  }, [id]);
  return type;
}

function StoredView({ file, files }: ImageProps): JSX.Element {
  const type = useShownType(file);
  const { url, name } = file;
  if (type?.startsWith("image/")) return <ImageView file={file} files={files} />;
  if (type?.startsWith("audio/"))
    return (
      <figure class="player">
        <figcaption class="cut">{name}</figcaption>
        <audio controls preload="metadata" src={url} aria-label={name} />
      </figure>
    );
  if (type?.startsWith("video/"))
    return (
      <figure class="player">
        <video controls playsInline preload="metadata" src={url} aria-label={name} />
      </figure>
    );
  return <FileChip file={file} isGone={type === "gone"} />;
}

/** A stored file: its name shows text and downloads the others. */
function FileChip({ file, isGone }: FileProps & { readonly isGone?: boolean }) {
  const { url = "", name, size } = file;
  const detail = isGone ? "No longer available" : size === undefined ? "" : formatBytes(size);
  const content = (
    <>
      <span class="thumb">
        <Icon name="file-text" small />
      </span>
      <span class="about">
        <span class="cut">{name || "File"}</span>
        {detail && <span class="muted xs">{detail}</span>}
      </span>
    </>
  );
  if (isGone) return <span class="chip">{content}</span>;
  const isText = languageOf(file) !== undefined;
  return (
    <span class="chip">
      {isText ? (
        <button
          type="button"
          class="open"
          title={`Open ${name}`}
          onClick={() => (openedFile.value = { file, others: [file] })}
        >
          {content}
        </button>
      ) : (
        <a class="open" href={url} download={name}>
          {content}
        </a>
      )}
      <DownloadLink url={url} name={name} />
    </span>
  );
}

export function DownloadLink({ url, name }: { url: string; name: string }): JSX.Element {
  const label = `Download ${name}`;
  return (
    <a class="icon-button compact" href={url} download={name} aria-label={label} title={label}>
      <Icon name="download" />
    </a>
  );
}

/** A file of another server, or one that was too large to be repeated. */
function OtherView({ file: { url = "", name } }: FileProps): JSX.Element {
  const content = (
    <>
      <span class="thumb">
        <Icon name="file-text" small />
      </span>
      <span class="cut">{name || "Attachment without preview"}</span>
    </>
  );
  if (!url.startsWith("https:")) return <span class="chip">{content}</span>;
  return (
    <a class="chip" href={url} target="_blank" rel="noopener noreferrer">
      {content}
    </a>
  );
}
