// Bugs of the browser's device, planted one at a time in a copy of it: each is seen by the test that is
// named. Without a bug the same tests pass there.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transformSync } from "esbuild";

import { bundled } from "../build.mjs";

const HERE = fileURLToPath(new URL("..", import.meta.url));
const COPY = mkdtempSync(join(tmpdir(), "askew-planted-"));
const WEB = join(COPY, "client/web");
const SERVED = join(COPY, "server/askew_server/serving/web/askew");
after(() => rmSync(COPY, { recursive: true }));

for (const folder of [SERVED, join(WEB, "build/askew"), join(COPY, "tests/protocol")]) mkdirSync(folder, { recursive: true });
for (const name of ["askew", "tests"]) cpSync(join(HERE, name), join(WEB, name), { recursive: true });
cpSync(join(HERE, "../../tests/protocol/vectors.json"), join(COPY, "tests/protocol/vectors.json"));
symlinkSync(join(HERE, "node_modules"), join(WEB, "node_modules"));
writeFileSync(join(WEB, "package.json"), JSON.stringify({ type: "module" }));
writeFileSync(join(COPY, "package.json"), JSON.stringify({ type: "module" }));

function build() {
  for (const name of readdirSync(join(WEB, "askew"))) {
    const { code } = transformSync(readFileSync(join(WEB, "askew", name), "utf8"), { loader: "ts", target: "es2022" });
    writeFileSync(join(WEB, "build/askew", name.replace(/ts$/, "js")), code);
  }
  writeFileSync(join(SERVED, "index.js"), bundled(pathToFileURL(join(WEB, "askew/index.ts"))));
}

// The tests that fail in the copy as it is now.
function failing(file, name) {
  build();
  const pattern = `--test-name-pattern=^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  const words = ["--test", "--test-reporter=tap", pattern, `tests/${file}.test.mjs`];
  const { stdout } = spawnSync(process.execPath, words, { cwd: WEB, encoding: "utf8", env, timeout: 120_000 });
  const [, passed] = stdout.match(/^# pass (\d+)$/m);
  const [, failed] = stdout.match(/^# fail (\d+)$/m);
  assert.equal(Number(passed) + Number(failed), 1, stdout);
  return [...stdout.matchAll(/^ *not ok \d+ - (.*)$/gm)].map((each) => each[1]).filter((each) => each === name).length;
}

const DRAWS = "every draw is the core's, from the same bytes";
const BUGS = [
  ["a point is rounded down, and never at random", "noise", "[belowI + move(partI), belowJ + move(partJ)]", "[belowI, belowJ]", "draws", DRAWS],
  ["a coin is thrown by 128 bits alone", "noise", "value >= low && value < high;", "false;", "draws", "every rare branch is the core's: coins on their bounds, draws that stay, and far ones"],
  ["the caps are not checked", "ledger", "if (price.refused) throw price.refused;", "", "device", "a cap refuses before anything is drawn"],
  ["the monthly cap is never reached", "ledger", "if ([dated, counted].includes(month))", "if (false)", "ledger", "a ledger is the core's: a month's cap, and the next month"],
  ["the ledger's clock runs back", "ledger", "sent ? month : clockOf(entries, month)", "month", "ledger", "a ledger is the core's: the clock never runs back"],
  ["what a wrong clock drew counts in no month", "ledger", 'if (kind === "accept") latest = counted;', "", "ledger", "one date from the future locks nobody out, and gives no month for nothing"],
  ["it is sent before its charge is stored", "ledger", "await ended;", "", "ledger", "a signal is returned when it is stored, and not where the last step of that fails"],
  ["a file's entries are not checked", "ledger", "!entries.every((each) => isEntry(each, caps)) || ", "", "ledger", "what is no file of a ledger is refused whole"],
  ["a file is added twice", "ledger", "return !records.has(handle) && ", "return ", "ledger", "an older file gives no budget back, and the same file adds nothing"],
  ["another price than was shown is charged", "device", "if (!covers(shown, now))", "if (false)", "device", "a quote is used once, and a price that changed is not charged"],
  ["a quote is used twice", "device", "this._quotes.delete(quote);", "", "device", "a quote is used once, and a price that changed is not charged"],
  ["a place outside the region is drawn", "device", "if (!contains(this.settings.region, position))", "if (false)", "device", "a position outside the region makes no call and no charge"],
  ["private work is done while a connection is open", "connection", 'if (this._open[what === "private" ? "connection" : "private"])', "if (false)", "device", "private work while a connection is open is refused, and loses nothing"],
  ["the next moment follows private work", "connection", "this._moment = clock() + this._interval;", "this._moment = 0;", "device", "the next moment is fixed when a connection ends, and whole intervals later for who asks later"],
  ["a spot whose question failed is asked again by itself", "device", "return again ? waiting : undefined;", "return waiting;", "device", "a server that fails a question does not learn whether the next one is from the same spot"],
  ["a card is kept for ever", "device", "today <= this._monday + LONGEST_USE ? this._card : null", "true ? this._card : null", "device", "a card is kept as long as a file of its week, and no longer"],
  ["a question says a collection's name", "device", "numberOf(card, quote.collection))", "quote.collection.charCodeAt(0))", "device", "the name of a collection is not in what leaves, and another name changes nothing"],
  ["a reply of another collection is taken", "wire", "if (!message.has(8) || message.fixed(8) !== of.number) throw malformed();", "", "answers", "a hostile reply is refused by the core's error"],
  ["a server of few results names its own k", "wire", "Math.max(FEWEST, ...SIZES.filter((each) => each <= Math.min(fit, most)))", "Math.max(0, ...SIZES.filter((each) => each <= Math.min(fit, most))) || most", "answers", "how many results are asked for follows from the card, as in the core"],
  ["cookies are sent", "connection", 'credentials: "omit"', 'credentials: "include"', "device", "a question: one card, one signal, one call, and the private order of the core"],
];

test("without a bug the tests pass in the copy", () => {
  const seen = new Map(BUGS.map(([, , , , file, name]) => [name, file]));
  for (const [name, file] of seen) assert.equal(failing(file, name), 0, name);
});

for (const [says, module, old, planted, file, name] of BUGS)
  test(`planted: ${says}`, () => {
    const path = join(WEB, `askew/${module}.ts`);
    const text = readFileSync(path, "utf8");
    assert.equal(text.split(old).length, 2, `its text is once in ${module}.ts`);
    writeFileSync(path, text.replace(old, () => planted));
    try {
      assert.equal(failing(file, name), 1, `seen by: ${name}`);
    } finally {
      writeFileSync(path, text);
    }
  });
