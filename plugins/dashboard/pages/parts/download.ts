/** Saves text as a file. @module */

const keepMs = 10_000;

/** @param type - MIME type. @defaultValue `text/plain`, which no browser runs */
export function download(name: string, text: string, type = "text/plain"): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), keepMs);
}
