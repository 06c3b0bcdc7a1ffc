// Outlines of countries, and towns by name: files of this page, the same for everybody. No tile and
// no search is asked of anyone, so nobody hears where the map is or what was looked up.

export interface Spot {
  readonly latitude: number;
  readonly longitude: number;
}

export interface Town extends Spot {
  readonly name: string;
  readonly large: boolean;
}

// A ring of an outline, as longitude and latitude in turn.
export type Ring = readonly number[];

interface Outlines {
  readonly scale: number;
  readonly arcs: readonly string[];
  readonly countries: readonly (readonly (readonly number[])[])[];
}

// Every ring of every country.
export async function outlines(): Promise<Ring[]> {
  const { scale, arcs, countries }: Outlines = await file("outlines.json");
  const lines = arcs.map((each) => line(each, scale));
  const back = lines.map((each) => reversed(each));
  return countries.flat().map((ring) => {
    const points: number[] = [];
    for (const arc of ring) {
      const next = (arc < 0 ? back[~arc] : lines[arc]) ?? [];
      // The end of an arc is the beginning of the next one.
      points.push(...(points.length > 0 ? next.slice(2) : next));
    }
    return points;
  });
}

// Towns, those of most people first.
export async function towns(): Promise<Town[]> {
  const { large, names, at }: { large: number; names: string; at: number[] } = await file("towns.json");
  return names.split("\n").map((name, n) => ({
    name,
    latitude: (at[2 * n] ?? 0) / 100,
    longitude: (at[2 * n + 1] ?? 0) / 100,
    large: n < large,
  }));
}

// Towns within reach whose names begin so, or else have it within; case and accents do not count.
export function called(name: string, among: readonly Town[], most: number): Town[] {
  const wanted = plain(name);
  if (wanted === "") return [];
  const starts = among.filter((each) => plain(each.name).startsWith(wanted));
  const within = among.filter((each) => plain(each.name).includes(wanted, 1));
  return [...new Set([...starts, ...within])].slice(0, most);
}

export function plain(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").trim().toLowerCase();
}

async function file<T>(name: string): Promise<T> {
  const reply = await fetch(name);
  if (!reply.ok) throw new Error(`${name} is not there`);
  return (await reply.json()) as T;
}

// An arc's points: differences of whole numbers, 5 bits a character from "?" on.
function line(text: string, scale: number): number[] {
  const points: number[] = [];
  const at = [0, 0];
  let [axis, value, shift] = [0, 0, 0];
  for (let index = 0; index < text.length; index += 1) {
    const bits = text.charCodeAt(index) - 63;
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits >= 32) continue;
    const now = (at[axis] ?? 0) + (value & 1 ? ~(value >> 1) : value >> 1);
    at[axis] = now;
    points.push(now / scale);
    [axis, value, shift] = [1 - axis, 0, 0];
  }
  return points;
}

function reversed(points: readonly number[]): number[] {
  const turned: number[] = [];
  for (let index = points.length - 2; index >= 0; index -= 2) {
    turned.push(points[index] ?? 0, points[index + 1] ?? 0);
  }
  return turned;
}
