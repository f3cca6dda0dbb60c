// Collects the images of the next chat message.
import { button, el } from "./dom.ts";

const allowedTypes = /^image\/(png|jpeg|gif|webp|bmp)$/;
const maxBytes = 20 * 1024 * 1024;

interface ImagePicker {
  /** Returns the images as `data:` URLs. */
  all(): readonly string[];
  /** Resolves when all chosen files have been read. */
  ready(): Promise<unknown>;
  clear(): void;
}

/** Accepts images that the user chooses, pastes or drops, and shows them in `container`. */
export function createImagePicker(
  form: HTMLFormElement,
  container: HTMLElement,
  showProblem: (text: string) => void,
): ImagePicker {
  let chosen: string[] = [];
  let reading: Promise<unknown> = Promise.resolve();
  const draw = (): void =>
    container.replaceChildren(
      ...chosen.map((url, index) =>
        el(
          "div",
          { class: "chosen" },
          el("img", { src: url, alt: `Image ${index + 1}` }),
          button("Remove", "quiet small", () => {
            chosen = chosen.filter((_, other) => other !== index);
            draw();
          }),
        ),
      ),
    );
  const read = async (files: readonly File[]): Promise<void> => {
    for (const file of files) {
      if (!allowedTypes.test(file.type))
        showProblem(`${file.name || "The file"} is not a PNG, JPEG, GIF, WebP or BMP image.`);
      else if (file.size > maxBytes) showProblem(`${file.name} is larger than 20 MiB.`);
      else {
        const url = await dataUrl(file).catch(() => showProblem(`Cannot read ${file.name}.`));
        if (url) chosen = [...chosen, url];
      }
    }
    draw();
  };
  const add = (files: readonly File[]): Promise<unknown> => {
    reading = reading.then(() => read(files));
    return reading;
  };
  const field = form.querySelector<HTMLInputElement>("[data-image]")!;
  field.addEventListener("change", () => {
    void add([...(field.files ?? [])]);
    field.value = "";
  });
  form.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length > 0) event.preventDefault();
    void add(files);
  });
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    void add([...(event.dataTransfer?.files ?? [])]);
  });
  return {
    all: () => chosen,
    ready: () => reading,
    clear: () => {
      chosen = [];
      draw();
    },
  };
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("unreadable")));
    reader.readAsDataURL(file);
  });
}
