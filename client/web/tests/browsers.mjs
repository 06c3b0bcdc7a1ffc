// Real browsers, and a real server of the environment of this clone.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const SERVER = fileURLToPath(new URL("../../../.venv/bin/askew-server", import.meta.url));
const QUIET = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
export const BROWSERS = [
  { browser: "chrome", executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", ...QUIET] },
  { browser: "firefox", executablePath: "/usr/bin/firefox-esr" },
];

/** Why a browser is left out, or false: ASKEW_BROWSERS=require lets none be. */
export function missing({ executablePath }) {
  const absent = [executablePath, SERVER].filter((path) => !existsSync(path));
  return absent.length > 0 && process.env.ASKEW_BROWSERS !== "require" && `${absent.join(" and ")} not found`;
}

/** A server on free ports, and the origin of its door. */
export async function serving(...words) {
  const server = spawn(SERVER, ["serve", "--port", "0", ...words], {
    env: { ...process.env, ASKEW_WITH_PARENT: "1" }, // it says where it listens, and ends with this process
    stdio: ["pipe", "pipe", "ignore"],
  });
  const line = await new Promise((done, fail) => {
    server.stdout.once("data", (data) => done(String(data)));
    server.once("exit", () => fail(new Error("askew-server did not start")));
  });
  return [server, line.match(/http:\/\/[^:]+:\d+/)[0]];
}

export async function ended(server) {
  if (!server || server.exitCode !== null) return;
  server.kill();
  await new Promise((done) => server.once("exit", done));
}
