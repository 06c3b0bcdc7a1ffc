// Makes what a server serves of this folder: one small file of the library and one of the page. They
// are committed, since a machine that installs Askew may have no node. A test compares them with the
// source. `node build.mjs dist` puts the library beside its types instead, for a package.

import { buildSync } from "esbuild";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const HERE = new URL(".", import.meta.url);
const SERVED = new URL("../../server/askew_server/serving/web/", HERE);
export const BUNDLES = ["askew/index", "page/page"]
  .map((name) => ({ source: new URL(`${name}.ts`, HERE), served: new URL(`${name}.js`, SERVED) }))
  .filter(({ source }) => existsSync(source));

export function bundled(source) {
  const found = buildSync({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    charset: "utf8",
    external: ["../askew/index.js"], // the page loads the library's own file
    format: "esm",
    legalComments: "none",
    mangleProps: /^_/, // of private members
    minify: true,
    target: "es2022",
    write: false,
  });
  return found.outputFiles[0].text;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === "dist") {
    writeFileSync(new URL("dist/askew/index.js", HERE), bundled(BUNDLES[0].source));
    copyFileSync(new URL("askew/regions.json", SERVED), new URL("dist/askew/regions.json", HERE));
  } else
    for (const { source, served } of BUNDLES) {
      mkdirSync(new URL(".", served), { recursive: true });
      writeFileSync(served, bundled(source));
    }
}
