/** The files of the unsent message, with their uploads. @module */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { IconButton } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { formatBytes } from "../../../shared/format.ts";
import type { Conversation } from "../state/conversation.ts";
import type { DraftFile } from "../state/drafts.ts";
import { acceptedTypes, sizeOf } from "./attachments.ts";
import type { Unsent } from "../state/unsent.ts";
import type { UploadState } from "./send-file.ts";
import { isReady, stored, uploadOf, type Upload } from "./uploads.ts";

interface ChosenProps {
  readonly conversation: Conversation;
  readonly unsent: Unsent;
}

export function Chosen({ conversation, unsent }: ChosenProps): JSX.Element {
  return (
    <div class="files">
      {unsent.draft.value.files.map((file, at) => (
        <Chip key={`${file.name} ${at}`} {...{ conversation, unsent, file }} />
      ))}
    </div>
  );
}

interface ChipProps extends ChosenProps {
  readonly file: DraftFile;
}

/** Uploads one file while it is shown or another conversation is in front. */
function useUpload({ conversation, file, unsent }: ChipProps): Upload | undefined {
  const { session, link } = conversation;
  const upload = useMemo(() => uploadOf(file, session), [file, session]);
  const state = upload?.state.value;
  useEffect(() => {
    if (state?.kind !== "stored") return;
    const { id } = state;
    unsent.changeFiles((files) =>
      files.map((one) => (one === file ? stored(file, id, session) : one)),
    );
  }, [state?.kind, upload]);
  const isConnected = link.value.state === "open";
  useEffect(() => {
    const present = upload?.state.peek();
    if (isConnected && present?.kind === "failed" && present.isOffline) upload?.retry();
  }, [isConnected, upload]);
  return upload;
}

const lost = "The upload was interrupted. Attach the file again.";

function Chip(props: ChipProps): JSX.Element {
  const { conversation, file, unsent } = props;
  const { name } = file;
  const upload = useUpload(props);
  const state = upload?.state.value;
  const isLost = !upload && !isReady(file, conversation.session);
  const problem = state?.kind === "failed" ? state.reason : isLost ? lost : undefined;
  const isOpen = state?.kind === "waiting" || state?.kind === "sending";
  const remove = (): void => {
    unsent.changeFiles((files) => files.filter((other) => other !== file));
    upload?.cancel();
  };
  return (
    <span class={`chip${problem === undefined ? "" : " bad"}`} role="group" aria-label={name}>
      <Preview file={file} />
      <span class="about">
        <span class="cut">{name}</span>
        {problem === undefined ? (
          <span class="muted xs num">{detailOf(file, state)}</span>
        ) : (
          <span class="reason xs" role="alert">
            {problem}
          </span>
        )}
        {isOpen && (
          <progress
            max={1}
            value={state.kind === "sending" ? state.share : 0}
            aria-label={`Upload of ${name}`}
          />
        )}
      </span>
      {state?.kind === "failed" && (
        <IconButton
          icon="rotate-ccw"
          label={`Upload ${name} again`}
          compact
          onClick={() => upload?.retry()}
        />
      )}
      <IconButton
        icon="x"
        label={isOpen ? `Cancel upload of ${name}` : `Remove ${name}`}
        compact
        onClick={remove}
      />
    </span>
  );
}

function detailOf(file: DraftFile, state: UploadState | undefined): string {
  const size = formatBytes(file.size ?? sizeOf(file));
  if (state?.kind === "waiting") return `Waiting · ${size}`;
  if (state?.kind === "sending") return `${Math.floor(state.share * 100)}% of ${size}`;
  return size;
}

function Preview({ file: { blob, url, name, type = "" } }: { readonly file: DraftFile }) {
  const isImage = acceptedTypes.includes(type);
  const address = useMemo(
    () => (isImage && blob ? URL.createObjectURL(blob) : undefined),
    [blob, isImage],
  );
  useEffect(() => () => URL.revokeObjectURL(address ?? ""), [address]);
  const [isBroken, setBroken] = useState(false);
  const source = address ?? (isImage ? url : undefined);
  if (source !== undefined && !isBroken)
    return <img src={source} alt={`Preview of ${name}`} onError={() => setBroken(true)} />;
  return (
    <span class="thumb">
      <Icon name="file-text" small />
    </span>
  );
}
