/** Images and files of a message. @module */
import type { JSX } from "preact";
import { Icon } from "../parts/icon.tsx";
import { inlineImage } from "./markdown/links.ts";
import type { ShownFile } from "./state/thread.ts";

function FileView({ file }: { readonly file: ShownFile }): JSX.Element {
  const { url = "", name } = file;
  if (inlineImage.test(url)) return <img class="attached" src={url} alt={name || "Image"} />;
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

/** Draws images, and links to other files. Images of other servers are not loaded. */
export function Files({ files }: { readonly files: readonly ShownFile[] }): JSX.Element | null {
  if (files.length === 0) return null;
  return (
    <div class="files">
      {files.map((file, at) => (
        <FileView key={at} file={file} />
      ))}
    </div>
  );
}
