// Checks the services of the compose files. Each check runs after its services have started.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const client = new URL("../dist/lib/pico-link/client.js", import.meta.url);

/** Resolves when the attempt does, for at most 60 s. */
async function eventually(what, attempt) {
  for (const deadline = Date.now() + 60_000; ;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`${what}: ${error.message}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function untilReady(base) {
  await eventually(`${base} is not ready`, async () =>
    assert.equal((await fetch(new URL("/readyz", base))).status, 200),
  );
}

/** Sends JSON, as a page of the dashboard does. */
function post(base, path, body) {
  return fetch(new URL(path, base), {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: base.origin },
    body: JSON.stringify(body),
  });
}

/** Signs in with the token, and requests what needs a sign-in. */
async function signIn(base, token) {
  const login = await post(base, "/login", { token });
  assert.equal(login.status, 200, await login.text());
  const cookie = login.headers.getSetCookie()[0].split(";", 1)[0];
  const status = await fetch(new URL("/api/status", base), { headers: { cookie } });
  assert.equal(status.status, 200);
  return status.json();
}

/** compose.yml: the health check passes, and the owner ends the setup and signs in. */
export async function checkSingle({ podman }) {
  const base = new URL("http://127.0.0.1:18800");
  await untilReady(base);
  const [name] = podman("ps", "--format", "{{.Names}}").split("\n");
  podman("healthcheck", "run", name);
  assert.match(
    podman("exec", name, "node", "-p", "process.ppid + ' ' + process.getuid()"),
    / 1000$/,
  );
  const { launcher_token: token } = JSON.parse(
    podman("exec", name, "node", "-p", "fs.readFileSync('/data/launcher-config.json', 'utf8')"),
  );
  assert.match(podman("logs", name), /\?token=ott_/);
  const setup = await post(base, "/setup", { code: token, keep: true });
  assert.equal(setup.status, 200, await setup.text());
  await signIn(base, token);
}

/** compose.open-webui.yml: a container of its network reaches the OpenAI endpoints by name. */
export async function checkOpenWebui({ podman, secrets: { OPENAI_TOKEN } }) {
  await untilReady(new URL("http://127.0.0.1:18800"));
  const script = `fetch("http://doorward:18800/v1/models", {
    headers: { Authorization: "Bearer " + process.env.TOKEN },
  }).then(async (response) => console.log(response.status, await response.text()))`;
  const words = ["--network", "doorward-open-webui_default", "--env", `TOKEN=${OPENAI_TOKEN}`];
  const text = podman(
    "run",
    "--rm",
    ...words,
    "docker.io/library/node:24-slim",
    "node",
    "-e",
    script,
  );
  assert.match(text, /^200 \{"object":"list"/);
}

/** compose.nodes.yml: clients of nginx lose nothing when a node is killed. */
export async function checkNodes({ podman, secrets: { LAUNCHER_TOKEN, PICO_TOKEN } }) {
  const names = podman("ps", "--format", "{{.Names}}")
    .split("\n")
    .filter((name) => /node\d/.test(name));
  assert.equal(names.length, 3);
  for (const name of names) {
    const format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
    const base = new URL(`http://${podman("inspect", "--format", format, name)}:18800`);
    await untilReady(base);
    await eventually("the nodes do not know each other", async () => {
      const { store } = await signIn(base, LAUNCHER_TOKEN);
      assert.equal(store.nodes.length, 3);
    });
  }
  const { connect } = await import(fileURLToPath(client));
  const received = new Map();
  const gaps = [];
  const clients = Array.from({ length: 12 }, (_, at) =>
    connect({
      url: "ws://127.0.0.1:8080/pico",
      token: PICO_TOKEN,
      sessionId: `compose-${at}`,
      onMessage: ({ content, final }) => {
        if (final) received.set(content, (received.get(content) ?? 0) + 1);
      },
      onGap: (gap) => gaps.push(gap),
    }),
  );
  try {
    const isOpen = () => assert(clients.every((one) => one.state() === "open"));
    await eventually("clients do not connect through nginx", isOpen);
    const sent = [];
    const send = (round) =>
      clients.map((one, at) => {
        sent.push(`${round} ${at}`);
        return one.send(`${round} ${at}`);
      });
    await Promise.all(send("before"));
    const pending = send("during");
    podman("kill", "--signal", "KILL", names[0]);
    pending.push(...send("after"));
    await Promise.all(pending);
    await eventually("replies are missing", () => assert.equal(received.size, sent.length));
    await eventually("clients do not return", isOpen);
    assert.deepEqual(gaps, []);
    const repeated = [...received.values()].filter((count) => count > 1).length;
    console.log(`${names[0]} killed: ${sent.length} replies, 0 lost, ${repeated} repeated, 0 gaps`);
  } finally {
    for (const one of clients) one.stop();
  }
}
