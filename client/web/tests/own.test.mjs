// A page of one's own, by the README alone: the package that `npm pack` makes, beside a page of another
// origin than the server's.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";

import { BROWSERS, ended, missing, serving } from "./browsers.mjs";

const HERE = fileURLToPath(new URL("..", import.meta.url));
const README = readFileSync(join(HERE, "README.md"), "utf8");
const fence = (language) => README.match(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "ms"))[1];
const TYPES = { ".js": "text/javascript", ".json": "application/json" };
const FOLDER = mkdtempSync(join(tmpdir(), "askew-own-"));
after(() => rmSync(FOLDER, { recursive: true }));

// As a stranger unpacks it: the folder `askew` beside the page.
execFileSync("npm", ["pack", "--silent", "--pack-destination", FOLDER], { cwd: HERE });
const [archive] = readdirSync(FOLDER);
execFileSync("tar", ["-xzf", archive, "--strip-components=2", "package/dist/askew"], { cwd: FOLDER });

test("the package has the library, its types and the regions, and nothing of the page", () => {
  const inside = execFileSync("tar", ["-tzf", archive], { cwd: FOLDER, encoding: "utf8" }).trim().split("\n");
  for (const name of ["index.js", "index.d.ts", "regions.json"]) assert.ok(inside.includes(`package/dist/askew/${name}`), name);
  assert.deepEqual(inside.filter((each) => !/^package\/(README\.md|package\.json|dist\/askew\/[a-z]+\.(js|d\.ts|json))$/.test(each)), []);
});

test("its types fit the lines of the README, and not a call that is wrong", () => {
  const types = (text) => {
    writeFileSync(join(FOLDER, "page.ts"), `${text}export {};\n`);
    const words = ["--strict", "--noEmit", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "page.ts"];
    return spawnSync(join(HERE, "node_modules/.bin/tsc"), words, { cwd: FOLDER, encoding: "utf8" }).stdout;
  };
  assert.equal(types(fence("js")), "");
  assert.match(types(fence("js").replace('level: "town"', 'level: "village"')), /village/);
});

for (const options of BROWSERS)
  describe(`a page of one's own in ${options.browser}`, { skip: missing(options) }, () => {
    let [host, server, door, browser, page] = [];

    before(async () => {
      host = createServer((request, reply) => {
        if (request.url === "/") return reply.setHeader("content-type", "text/html").end("<!doctype html><title>mine</title>");
        if (!/^\/askew\/[a-z]+\.(js|json)$/.test(request.url)) return reply.writeHead(404).end();
        reply.setHeader("content-type", TYPES[extname(request.url)]);
        reply.end(readFileSync(join(FOLDER, request.url)));
      });
      await new Promise((done) => host.listen(0, "localhost", done));
      const origin = `http://localhost:${host.address().port}`;
      const folder = join(FOLDER, options.browser);
      mkdirSync(folder);
      const settings = fence("toml");
      assert.ok(settings.includes("http://localhost:8000"));
      writeFileSync(join(folder, "askew-server.toml"), settings.replace("http://localhost:8000", origin));
      [server, door] = await serving("--demo", "places", "--config", join(folder, "askew-server.toml"));
      browser = await puppeteer.launch({ headless: true, ...options });
      page = await browser.newPage();
      await page.goto(origin);
    });

    after(async () => {
      await browser?.close();
      host?.close();
      await ended(server);
    });

    test("the lines of the README run as they stand", async () => {
      const lines = fence("js").replace(/^import (\{.*?\}) from (.*);$/m, "const $1 = await import($2);");
      assert.ok(lines.includes("await import") && lines.includes("http://127.0.0.1:7572"));
      const said = [];
      page.on("console", (each) => each.type() === "log" && said.push(each.text()));
      const missed = await page.evaluate(
        `(async () => {${lines.replace("http://127.0.0.1:7572", door)}; return [answer.missing, answer.nonePasses];})()`,
      );
      assert.match(said[0], /^epsilon 0\.277 per km/);
      assert.match(said[1], /^\S.* was picked here; what left: /);
      assert.deepEqual(missed, [[], false]); // the preferences are of attributes that the demo has
    });

    // Where server is another's: one that does not name this page, and a port where nobody listens.
    const connecting = (server) =>
      page.evaluate(async (server) => {
        const { openDevice, regionsOf } = await import("./askew/index.js");
        const [region] = regionsOf(await (await fetch("./askew/regions.json")).json());
        const device = await openDevice({ server, region });
        await window.leave?.(); // the host ends, with the files read
        return device.connect().then(String, ({ code, message }) => `${code}: ${message}`);
      }, server);

    test("a server that does not name the page and a wrong port look alike, and both remedies are said", async () => {
      const [closed, other] = await serving("--demo", "places");
      const advice = "unreachable: no reply that this page may read: check its address and http.origins";
      try {
        assert.equal(await connecting(other), advice);
      } finally {
        await ended(closed);
      }
      assert.equal(await connecting(other), advice);
    });

    test("at the page's own origin http.origins is no remedy, and is not named", async () => {
      await page.exposeFunction("leave", () => {
        host.close();
        host.closeAllConnections();
      });
      assert.equal(await connecting(new URL(page.url()).origin), "unreachable: no reply");
    });
  });
