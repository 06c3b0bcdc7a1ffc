import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { brotliCompressSync } from "node:zlib";

import { BUNDLES, bundled } from "../build.mjs";
import { regions } from "./vectors.mjs";

const SERVED = new URL("../../../server/askew_server/serving/web/", import.meta.url);

for (const { source, served } of BUNDLES)
  test(`what is served is the source: ${served.pathname.split("/web/").at(-1)}`, () => {
    assert.ok(
      readFileSync(served, "utf8") === bundled(source),
      "run `npm run build` in client/web",
    );
  });

test("the library is at most 10 KiB, compressed by brotli", () => {
  const { length } = brotliCompressSync(readFileSync(new URL("askew/index.js", SERVED)));
  assert.ok(length <= 10_240, `${length} bytes`);
});

test("the table of regions is the core's", async () => {
  const { regionsOf } = await import(new URL("askew/index.js", SERVED));
  const rows = JSON.parse(readFileSync(new URL("askew/regions.json", SERVED), "utf8"));
  assert.deepEqual(regionsOf(rows), regions);
});
