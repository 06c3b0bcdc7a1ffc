// The page in real browsers against a real server, through a proxy that sees what the network sees.
// Needs Chromium, Firefox and an environment with askew-server; ASKEW_BROWSERS=require lets none be
// left out.

import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import puppeteer from "puppeteer-core";

import { BROWSERS, ended, missing, serving } from "./browsers.mjs";

const HOME = "49.1519, 9.2405";
/** Bytes to and from a server, and when each connection was open, by this machine's clock. */
async function proxyTo(port) {
  const connections = [];
  const proxy = createServer((near) => {
    const seen = { opened: Date.now(), closed: Infinity, sent: [] };
    connections.push(seen);
    const far = connect(port, "127.0.0.1");
    near.on("data", (data) => seen.sent.push(data));
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        seen.closed = Math.min(seen.closed, Date.now());
        near.destroy();
        far.destroy();
      });
    }
  });
  await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
  return { proxy, connections, origin: `http://127.0.0.1:${proxy.address().port}` };
}

const PHONE = { width: 390, height: 844 };
const SCREEN = { width: 1280, height: 800 };

/** Where names and numbers of the map lie over each other, over a mark, or under what is above the map. */
const collisions = (page) =>
  page.evaluate(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const of = (query) =>
      [...document.querySelectorAll(query)]
        .map((each) => ({ name: each.textContent.trim() || each.className, box: each.getBoundingClientRect() }))
        .filter(({ box }) => box.width > 0);
    const over = (a, b) =>
      a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const [names, numbers] = [of("#names text"), of("#marks text")];
    const above = [...of("#marks g"), ...of(".zoom, .hint, #legend, #scale")];
    const pairs = names.flatMap((a, n) => [...names.slice(n + 1), ...numbers, ...above].map((b) => [a, b]));
    pairs.push(...numbers.flatMap((a, n) => [...numbers.slice(n + 1), ...of(".zoom, .hint, #legend, #scale")].map((b) => [a, b])));
    return { names: names.length, pairs: pairs.filter(([a, b]) => over(a.box, b.box)).map(([a, b]) => `${a.name} and ${b.name}`) };
  });

const textOf = (page, query) => page.$eval(query, (each) => each.textContent);
const questionsOf = (connections) =>
  connections
    .map(({ sent }) => Buffer.concat(sent))
    .filter((bytes) => bytes.includes("POST /askew.wire.v1.Retrieval/Retrieve "))
    .map((bytes) => bytes.subarray(bytes.indexOf("\r\n\r\n") + 4).toString("hex"));

for (const options of BROWSERS) {
  const skip = missing(options);

  describe(`the page in ${options.browser}`, { skip }, () => {
    let [server, network, browser, page] = [];
    const [addresses, faults] = [[], []];

    before(async () => {
      let door;
      [server, door] = await serving("--demo", "places", "--web");
      network = await proxyTo(Number(new URL(door).port));
      browser = await puppeteer.launch({ headless: true, ...options });
      page = await browser.newPage();
      page.on("request", (request) => addresses.push(request.url()));
      page.on("pageerror", (error) => faults.push(String(error)));
      await page.evaluateOnNewDocument(() => {
        window.moments = [];
        window.violations = [];
        window.addEventListener("askew", ({ detail }) => window.moments.push(detail));
        document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
      });
      await page.goto(network.origin);
      await page.waitForSelector("body.ready");
    });

    after(async () => {
      await browser?.close();
      network?.proxy.close();
      await ended(server);
    });

    test("the first screen has the title, and names of towns that do not collide", async () => {
      for (const size of [PHONE, SCREEN]) {
        await page.setViewport(size);
        const { top, bottom } = await page.$eval("h1", (each) => each.getBoundingClientRect().toJSON());
        assert.ok(top >= 0 && bottom <= size.height / 4, `${top} to ${bottom}`);
        const { names, pairs } = await collisions(page);
        assert.deepEqual(pairs, []);
        assert.ok(names >= 15, `${names} names`);
      }
    });

    test("a price is shown before a place is drawn, and adding one sends nothing", async () => {
      const before = network.connections.length;
      assert.match(await textOf(page, "#price"), /ε 0\.277 per km.*15 such places for life and 5 a month/s);
      assert.match(await textOf(page, "#entries"), /Nothing was ever charged/);
      assert.doesNotMatch(await textOf(page, "#add-button"), /pay|buy|price/);
      await page.type("#name", "home");
      await page.type("#where", HOME);
      await page.$eval("#add-button", (each) => each.click());
      await page.waitForSelector("#ask-button:not(:disabled)");
      assert.match(await textOf(page, "#entries"), /a noisy position was drawn/);
      assert.equal(network.connections.length, before);
    });

    test("a question is what the page says that it is, and its answer is ranked here", async () => {
      await page.$eval("#ask-button", (each) => each.click());
      await page.waitForSelector("#results:not([hidden]) .list li.pick");
      await page.waitForFunction(() => !document.getElementById("ask-button").disabled);
      assert.equal((await page.$$(".list li")).length, 40);
      assert.equal((await page.$$("#marks .result")).length, 40);
      const shown = (await textOf(page, "#left-rows dd:last-child")).replaceAll(" ", "");
      assert.deepEqual(questionsOf(network.connections), [shown]);
      const sent = Buffer.concat(network.connections.flatMap((each) => each.sent)).toString("latin1");
      for (const secret of ["49.15", "9.24", "home"]) assert.ok(!sent.includes(secret), secret);
    });

    test("the map of an answer names towns, and no name and no number lies over another at any zoom", async () => {
      for (const size of [PHONE, SCREEN]) {
        await page.setViewport(size);
        await page.$eval("#whole", (each) => each.click());
        for (const button of ["whole", "nearer", "nearer", "farther", "farther", "farther", "farther"]) {
          await page.$eval(`#${button}`, (each) => each.click());
          const { names, pairs } = await collisions(page);
          assert.deepEqual(pairs, []);
          if (button === "whole") assert.ok(names >= 1, `${names} names`);
        }
        await page.$eval("#whole", (each) => each.click());
      }
    });

    test("preferences rank the same answer anew and send nothing", async () => {
      const before = network.connections.length;
      assert.doesNotMatch(await textOf(page, ".list .pick"), /Indian/);
      await page.type("#in-words", "kind: Indian +30"); // and what is half typed ranks, too
      await page.waitForFunction(() => /Indian/.test(document.querySelector(".list .pick")?.textContent));
      assert.equal(network.connections.length, before);
    });

    test("who asks again sends the same bytes, for nothing", async () => {
      await page.$eval("#ask-button", (each) => each.click());
      await page.waitForFunction(() => window.moments.filter((each) => each.what === "connection").length >= 6);
      await page.waitForFunction(() => !document.getElementById("ask-button").disabled);
      const [first, second, ...more] = questionsOf(network.connections);
      assert.equal(second, first);
      assert.deepEqual(more, []);
      assert.equal((await page.$$("#entries li")).length, 1);
    });

    test("nothing private is worked on while a connection is open", async () => {
      const moments = await page.evaluate(() => window.moments);
      const begun = moments.filter((each) => each.what === "private" && each.begins);
      const ended = moments.filter((each) => each.what === "private" && !each.begins);
      assert.ok(begun.length >= 10 && begun.length === ended.length);
      const overlaps = begun.flatMap(({ at }, n) =>
        network.connections
          .filter(({ opened, closed }) => opened < ended[n].at - 1 && closed > at + 1)
          .map(({ opened, closed, sent }) => {
            const line = Buffer.concat(sent).toString("latin1").split("\r\n")[0];
            return `${line}: open from ${opened - at} to ${closed - at} ms, private for ${ended[n].at - at} ms`;
          }),
      );
      assert.deepEqual(overlaps, []);
    });

    test("the ledger and the place are there when the page is loaded again", async () => {
      await page.reload();
      await page.waitForSelector("body.ready");
      assert.match(await textOf(page, "#places"), /home/);
      assert.equal((await page.$$("#entries li")).length, 1);
    });

    test("a server that has changed and then is away is found again, and no question goes before its price", async () => {
      await page.evaluate(() => {
        const headers = { "content-type": "application/json" };
        const stale = () => new Response('{"code": "failed_precondition"}', { status: 400, headers });
        const away = () => {
          throw new TypeError("away");
        };
        const [real, first] = [window.fetch, [stale, away]];
        window.fetch = async (...call) => (first.shift() ?? real)(...call);
      });
      const asked = questionsOf(network.connections).length;
      const shows = (words) =>
        page.waitForFunction(
          (text) => (({ textContent, disabled }) => textContent === text && !disabled)(document.getElementById("ask-button")),
          {},
          words,
        );
      await page.$eval("#ask-button", (each) => each.click());
      await shows("Connect again");
      assert.match(await textOf(page, "#quote"), /The server has changed/);
      await page.$eval("#ask-button", (each) => each.click());
      await shows("Ask");
      assert.match(await textOf(page, "#quote"), /Tells nothing new/);
      assert.equal(questionsOf(network.connections).length, asked);
    });

    test("a date from the future is told, and put right by one button", async () => {
      await page.evaluate(async () => {
        const done = (request) => new Promise((found) => (request.onsuccess = () => found(request.result)));
        const database = await done(indexedDB.open("askew"));
        const entry = { kind: "accept", handle: "", month: "2099-01", epsilon: "0", record: null };
        await done(database.transaction("entries", "readwrite").objectStore("entries").add(entry));
        database.close();
      });
      await page.reload();
      await page.waitForSelector("body.ready");
      await page.$eval("#new-place", (each) => each.click());
      await page.waitForSelector("#accept:not([hidden])");
      assert.match(await textOf(page, "#price"), /The ledger is in 2099-01, and this device's clock says/);
      await page.$eval("#accept", (each) => each.click());
      await page.waitForSelector("#accept[hidden]");
      assert.doesNotMatch(await textOf(page, "#price"), /2099/);
      assert.doesNotMatch(await textOf(page, "#month"), /2099/);
      await page.$eval("#new-place", (each) => each.click());
    });

    test("the tabs and the map work by keys", async () => {
      await page.focus("#tab-near");
      await page.keyboard.press("ArrowRight");
      assert.equal(await page.$eval("#budget", (each) => each.hidden), false);
      const where = () => page.$eval("#world", (each) => each.getAttribute("transform"));
      const before = await where();
      await page.$eval("#chart", (each) => each.focus());
      await page.keyboard.press("ArrowLeft");
      await page.waitForFunction((text) => document.getElementById("world").getAttribute("transform") !== text, {}, before);
    });

    test("it asks nobody else, breaks no policy and has no fault", async () => {
      assert.deepEqual(addresses.filter((each) => !each.startsWith(network.origin) && !each.startsWith("data:")), []);
      assert.deepEqual(await page.evaluate(() => window.violations), []);
      assert.deepEqual(faults, []);
    });
  });
}
