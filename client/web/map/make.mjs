// Writes the outlines and towns that the page draws, from Natural Earth (public domain, by the npm
// package world-atlas) and from the device's own table of towns (GeoNames, CC BY 4.0):
//
//   npm install --no-save world-atlas@2.0.2 topojson-simplify@3.0.3 && node map/make.mjs
//
// Outlines: {"scale": n, "arcs": [text, ...], "countries": [[[arc, ...], ...], ...]}. An arc is its
// points in degrees times n, longitude and latitude, as differences in the code of `coded`. A
// country is its rings; a ring joins arcs, and ~n is arc n backwards.
import { readFileSync, writeFileSync } from "node:fs";
import { filter, filterWeight, presimplify, simplify } from "topojson-simplify";

const SCALE = 500; // about 200 m
const LEAST = 8e-4; // square degrees: a bend whose triangle is smaller is left out
const here = new URL(".", import.meta.url);
const web = new URL("../../../server/askew_server/serving/web/", here);

const atlas = new URL("../node_modules/world-atlas/countries-10m.json", here);
const whole = presimplify(JSON.parse(readFileSync(atlas, "utf8")));
const fine = simplify(whole, LEAST);
const world = filter(fine, filterWeight(fine, LEAST));

/** Whole numbers, 5 bits a character from "?" on, as in encoded polylines. */
function coded(numbers) {
  let text = "";
  for (const each of numbers) {
    let rest = each < 0 ? ~(each << 1) : each << 1;
    for (; rest >= 32; rest >>= 5) text += String.fromCharCode((32 | (rest & 31)) + 63);
    text += String.fromCharCode(rest + 63);
  }
  return text;
}

const arcs = world.arcs.map((points) => {
  const rounded = points.map((point) => point.slice(0, 2).map((each) => Math.round(each * SCALE)));
  let [x, y] = [0, 0];
  const steps = [];
  for (const [longitude, latitude] of rounded) {
    if (steps.length && longitude === x && latitude === y) continue;
    steps.push(longitude - x, latitude - y);
    [x, y] = [longitude, latitude];
  }
  return coded(steps);
});
const countries = world.objects.countries.geometries
  .map((each) => (each.type === "Polygon" ? each.arcs : (each.arcs ?? []).flat()))
  .filter((rings) => rings.length > 0);
const used = [...new Set(countries.flat(2).map((each) => (each < 0 ? ~each : each)))];
const place = new Map(used.map((arc, at) => [arc, at]));
const moved = (each) => (each < 0 ? ~place.get(~each) : place.get(each));
const outlines = {
  scale: SCALE,
  arcs: used.map((arc) => arcs[arc]),
  countries: countries.map((rings) => rings.map((ring) => ring.map(moved))),
};
writeFileSync(new URL("outlines.json", web), JSON.stringify(outlines) + "\n");

// Every town that a device knows, those of most people first, so that those of LARGE are the first ones:
// {"large": n, "names": text, "at": [latitude, longitude, ...]}, a line a name, in hundredths of a degree.
const LARGE = 500_000;
const table = new URL("../../askew_client/settings/towns.txt", here);
const towns = readFileSync(table, "utf8").trimEnd().split("\n").map((line) => line.split("\t"));
towns.sort((a, b) => b[5] - a[5]);
const named = {
  large: towns.filter((each) => each[5] >= LARGE).length,
  names: towns.map(([name]) => name).join("\n"),
  at: towns.flatMap((each) => [each[3], each[4]].map((degrees) => Math.round(degrees * 100))),
};
writeFileSync(new URL("towns.json", web), JSON.stringify(named) + "\n");
