// Highlights the code of the documentation while it is built, with the classes of the console.
import bash from "highlight.js/lib/languages/bash";
import ini from "highlight.js/lib/languages/ini";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

const lowlight = createLowlight({ bash, ini, javascript, json, python, typescript, xml, yaml });

/** Highlights code. @returns Nodes as in `docs.mjs`. */
export function highlight(language, text) {
  if (!lowlight.registered(language)) return [text];
  return lowlight.highlight(language, text).children.map(toNode);
}

function toNode({ type, value, properties, children }) {
  if (type === "text") return value;
  return ["span", { class: properties.className.join(" ") }, ...children.map(toNode)];
}
