// Clients that talk: a process of its own, plain sockets, frames prepared once, answers counted and not read.
import { spawn } from "node:child_process";
import { connect } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} Talk
 * @property {number} port
 * @property {string} token
 * @property {number} connections
 * @property {number} inFlight messages of each connection that wait for their answer
 * @property {number} seconds
 */

/** Answers per second. @param {Talk} load @returns {Promise<number>} */
export async function talk(load) {
  const args = [fileURLToPath(import.meta.url), JSON.stringify(load)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let answer = "";
  for await (const text of child.stdout.setEncoding("utf8")) answer += text;
  return Number(answer);
}

/** A client's text frame, masked with zeros. @param {string} text */
function frame(text) {
  const body = Buffer.from(text);
  const head = Buffer.from([0x81, 0x80 | 126, body.length >> 8, body.length & 255, 0, 0, 0, 0]);
  return Buffer.concat([body.length < 126 ? Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0]) : head, body]);
}

/** Counts whole frames of a server in what arrives. @param {(frames: number) => void} heard */
function counter(heard) {
  let left = Buffer.alloc(0);
  return (/** @type {Buffer} */ chunk) => {
    const all = left.length > 0 ? Buffer.concat([left, chunk]) : chunk;
    let at = 0;
    let frames = 0;
    while (all.length - at >= 4) {
      const short = (all[at + 1] ?? 0) & 127;
      const length = short < 126 ? short + 2 : all.readUInt16BE(at + 2) + 4;
      if (all.length - at < length) break;
      at += length;
      frames += 1;
    }
    left = Buffer.from(all.subarray(at));
    if (frames > 0) heard(frames);
  };
}

/** @param {Talk} load */
function run({ port, token, connections, inFlight, seconds }) {
  const message = frame(JSON.stringify({ type: "message.send", id: "1", payload: { content: "hello, is anybody there?" } }));
  const many = Buffer.concat(Array.from({ length: inFlight }, () => message));
  const head = [
    "GET /pico HTTP/1.1", `Host: 127.0.0.1:${port}`, "Connection: Upgrade", "Upgrade: websocket",
    "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", `Authorization: Bearer ${token}`, "", "",
  ].join("\r\n");
  let done = 0;
  for (let n = 0; n < connections; n++) {
    const socket = connect(port, "127.0.0.1").setNoDelay(true);
    const count = counter((frames) => {
      done += frames;
      socket.write(many.subarray(0, frames * message.length));
    });
    let answer = "";
    socket.on("connect", () => socket.write(head));
    const greet = (/** @type {Buffer} */ chunk) => {
      answer += chunk.toString("latin1");
      if (!answer.includes("\r\n\r\n")) return;
      if (!answer.startsWith("HTTP/1.1 101")) throw new Error(`answered ${answer.slice(0, 200)}`);
      socket.off("data", greet).on("data", count).write(many);
    };
    socket.on("data", greet);
  }
  setTimeout(() => {
    done = 0;
    const began = performance.now();
    setTimeout(() => process.stdout.write(String((done / (performance.now() - began)) * 1_000), () => process.exit()), seconds * 1_000);
  }, 300);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) run(JSON.parse(process.argv[2] ?? "{}"));
