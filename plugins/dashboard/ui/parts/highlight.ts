/** Highlights code. Loaded when a page shows code for the first time. @module */
import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

/** A piece of highlighted code: text with at most one class. */
export interface CodePiece {
  readonly text: string;
  readonly kind?: string;
}

const lowlight = createLowlight({
  bash,
  diff,
  javascript,
  json,
  python,
  typescript,
  xml,
  yaml,
});

interface TreeNode {
  readonly type: string;
  readonly value?: string;
  readonly properties?: { readonly className?: unknown };
  readonly children?: readonly TreeNode[];
}

/** @returns The code in pieces; one piece without a class if the language is unknown. */
export function highlight(language: string, text: string): readonly CodePiece[] {
  if (!lowlight.registered(language)) return [{ text }];
  return toPieces(lowlight.highlight(language, text) as TreeNode, undefined);
}

function toPieces(node: TreeNode, kind: string | undefined): CodePiece[] {
  if (node.type === "text") return [{ text: node.value ?? "", ...(kind && { kind }) }];
  const names = node.properties?.className;
  const own = Array.isArray(names) ? names.join(" ") : kind;
  return (node.children ?? []).flatMap((child) => toPieces(child, own));
}
