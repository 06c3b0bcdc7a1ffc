// The map: outlines, towns, and the marks of a question. It loads nothing: what it shows was there
// before. A plane of kilometers around the middle of a region, drawn as SVG.

import { element, found, shape } from "./dom.js";
import type { Ring, Spot, Town } from "./outlines.js";

const KM = 111.195; // kilometers a degree, of a sphere of the Earth's size
const MOST_TOWNS = 40;
const CLOSEST = 0.004; // kilometers a pixel
const WIDEST = 12;
const TAP = 6; // pixels that a finger may move and still has tapped
const HALO = 3; // pixels of a light edge around letters

export interface Area {
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
}

// A result: its rank, its title, and whether it is the pick.
export interface Mark extends Spot {
  readonly rank: number;
  readonly title: string;
  readonly picked: boolean;
  readonly passes: boolean;
}

// What the map shows beside land and towns. Private as a whole: it has the true place.
export interface Scene {
  readonly you?: Spot;
  readonly candidate?: Spot; // a place that is about to be added
  readonly signal?: Spot;
  readonly half?: readonly Spot[]; // where the noise leads 5 times in 10, around the signal
  readonly most?: readonly Spot[]; // 9 times in 10
  readonly results?: readonly Mark[];
}

export class MapView {
  private readonly svg = found<SVGSVGElement>("chart");
  private readonly land = found<SVGPathElement>("land");
  private readonly edge = found<SVGPathElement>("edge");
  private readonly most = found<SVGPathElement>("most");
  private readonly half = found<SVGPathElement>("half");
  private readonly world = found<SVGGElement>("world");
  private readonly names = found<SVGGElement>("names");
  private readonly marks = found<SVGGElement>("marks");
  private readonly scale = found<HTMLElement>("scale");
  private middle: Spot = { latitude: 20, longitude: 0 };
  private kilometers = WIDEST; // a pixel
  private origin: Spot = { latitude: 0, longitude: 0 };
  private cosine = 1;
  private scene: Scene = {};
  private waiting = false;
  private readonly pen = element("canvas").getContext("2d") as CanvasRenderingContext2D;
  private readonly widths = new Map<Town, number>(); // pixels of a name
  private readonly fingers = new Map<number, { x: number; y: number }>();
  private moved = 0;

  // tapped: a spot of the map was named. chosen: a result of this rank was.
  constructor(
    private readonly rings: readonly Ring[],
    private readonly towns: readonly Town[],
    private readonly tapped: (at: Spot) => void,
    private readonly chosen: (rank: number) => void,
  ) {
    this.svg.addEventListener("pointerdown", (event) => this.down(event));
    this.svg.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"] as const) {
      this.svg.addEventListener(name, (event) => this.up(event));
    }
    this.svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.svg.addEventListener("keydown", (event) => this.key(event));
    found("nearer").addEventListener("click", () => this.zoom(0.5));
    found("farther").addEventListener("click", () => this.zoom(2));
    found("whole").addEventListener("click", () => this.fit());
    // Painted before the frame that has the new size is shown: a frame later, names would lie under what moved.
    new ResizeObserver(() => this.paint()).observe(this.svg);
  }

  // Another region: land is laid out anew around it.
  region(area: Area): void {
    const width = (area.east - area.west + 360) % 360 || 360;
    const origin = { latitude: (area.south + area.north) / 2, longitude: wrapped(area.west + width / 2) };
    this.origin = origin;
    this.cosine = Math.cos((origin.latitude * Math.PI) / 180);
    const reach = { x: (width / 2) * 1.8 + 6, y: ((area.north - area.south) / 2) * 1.8 + 4 };
    this.land.setAttribute("d", this.path(this.rings.filter((ring) => near(ring, origin, reach))));
    const corners = [area.west, area.south, area.east, area.south, area.east, area.north, area.west, area.north];
    this.edge.setAttribute("d", this.path([corners]));
    this.frame([
      { latitude: area.south, longitude: area.west },
      { latitude: area.north, longitude: area.east },
    ]);
  }

  // Shows this; around: and leads there.
  show(scene: Scene, around = false): void {
    this.scene = scene;
    this.most.setAttribute("d", scene.most ? this.path([flat(scene.most)]) : "");
    this.half.setAttribute("d", scene.half ? this.path([flat(scene.half)]) : "");
    if (around) this.fit();
    this.draw();
  }

  // Leads to a spot, so many kilometers across at most.
  go(at: Spot, across: number): void {
    this.middle = at;
    this.kilometers = Math.min(this.kilometers, across / this.size().width);
    this.draw();
  }

  // Marks the result of a rank, of list and map alike; none for 0.
  point(rank: number): void {
    for (const each of this.marks.querySelectorAll(".result")) {
      each.classList.toggle("pointed", each.getAttribute("data-rank") === String(rank));
    }
  }

  private fit(): void {
    const { you, candidate, signal, most, results } = this.scene;
    const marks = [you, candidate, signal, ...(most ?? []), ...(results ?? [])].filter((each) => each !== undefined);
    if (marks.length > 1) this.frame(marks);
    else if (marks[0] !== undefined) this.go(marks[0], 80);
  }

  private frame(spots: readonly Spot[]): void {
    const points = spots.map((each) => this.plane(each));
    const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
    const { width, height } = this.size();
    const room = Math.max((right - left) / Math.max(80, width - 60), (bottom - top) / Math.max(80, height - 80));
    this.middle = this.spot((left + right) / 2, (top + bottom) / 2);
    this.kilometers = limited(room, CLOSEST, WIDEST);
    this.draw();
  }

  private size(): { width: number; height: number } {
    return { width: this.svg.clientWidth || 600, height: this.svg.clientHeight || 400 };
  }

  // Kilometers east and south of the region's middle.
  private plane(at: Spot): [number, number] {
    const east = wrapped(at.longitude - this.origin.longitude);
    return [east * KM * this.cosine, (this.origin.latitude - at.latitude) * KM];
  }

  private spot(x: number, y: number): Spot {
    const latitude = limited(this.origin.latitude - y / KM, -85, 85);
    return { latitude, longitude: wrapped(this.origin.longitude + x / (KM * this.cosine)) };
  }

  private path(rings: readonly Ring[]): string {
    const parts: string[] = [];
    for (const ring of rings) {
      let before = Number.NaN;
      for (let index = 0; index < ring.length; index += 2) {
        const [x, y] = this.plane({ longitude: ring[index] ?? 0, latitude: ring[index + 1] ?? 0 });
        // No line crosses the whole map where an outline passes the far side of the Earth.
        const jumps = Math.abs(x - before) > 180 * KM * this.cosine;
        parts.push(`${index === 0 || jumps ? "M" : "L"}${x.toFixed(2)} ${y.toFixed(2)}`);
        before = x;
      }
      parts.push("Z");
    }
    return parts.join("");
  }

  // Draws at the next frame, once, whatever asked for it.
  private draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  private paint(): void {
    const { width, height } = this.size();
    const [x, y] = this.plane(this.middle);
    const size = 1 / this.kilometers;
    this.world.setAttribute(
      "transform",
      `translate(${width / 2} ${height / 2}) scale(${size}) translate(${-x} ${-y})`,
    );
    this.paintScale();
    const taken = this.covered();
    this.paintMarks(taken);
    this.paintTowns(taken);
  }

  private pixel(at: Spot): { x: number; y: number } {
    const { width, height } = this.size();
    const [x, y] = this.plane(at);
    const [left, top] = this.plane(this.middle);
    return { x: width / 2 + (x - left) / this.kilometers, y: height / 2 + (y - top) / this.kilometers };
  }

  // What lies over the map, where no name and no number is to be.
  private covered(): Box[] {
    const { left: x, top: y } = this.svg.getBoundingClientRect();
    const above = [...(this.svg.parentElement?.querySelectorAll<HTMLElement>(".zoom, .hint, #legend, #scale") ?? [])];
    return above.map((each) => {
      const { left, right, top, bottom } = each.getBoundingClientRect();
      return { left: left - x, right: right - x, top: top - y, bottom: bottom - y };
    });
  }

  // The marks of a question; adds where they are to what is taken.
  private paintMarks(taken: Box[]): void {
    const { you, candidate, signal, results } = this.scene;
    const made: SVGElement[] = [];
    const put = (at: Spot, name: string, room: number, ...parts: SVGElement[]): SVGGElement => {
      const { x, y } = this.pixel(at);
      taken.push({ left: x - room, right: x + room, top: y - room, bottom: y + room });
      const mark = shape("g", { class: name, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }, ...parts);
      made.push(mark);
      return mark;
    };
    const numbered = this.numbered(taken);
    const result = (each: Mark): void => {
      const named = numbered.has(each.rank);
      const title = shape("title", {}, `${each.rank}. ${each.title}`);
      const sign = each.picked
        ? [shape("path", { d: STAR }), ...(named ? [shape("text", { y: 4 }, String(each.rank))] : [])]
        : [shape("circle", { r: named ? 10 : 4.5 }), ...(named ? [shape("text", { y: 4 }, String(each.rank))] : [])];
      const name = `result${each.picked ? " pick" : ""}${each.passes ? "" : " fails"}`;
      const mark = put(each, name, each.picked ? 17 : named ? 11 : 6, title, ...sign); // a star is wide
      mark.setAttribute("data-rank", String(each.rank));
    };
    // What is drawn last lies above: the best of the results, and over you, whose ring stays in sight, the pick.
    const backwards = [...(results ?? [])].reverse();
    backwards.filter(({ picked }) => !picked).forEach(result);
    if (signal) put(signal, "signal", 10, shape("title", {}, "the noisy position: this left"), shape("path", { d: "M0-10L10 0L0 10L-10 0Z" }));
    if (you) put(you, "you", 19, shape("title", {}, "you: this stays here"), shape("circle", { r: 18, class: "ring" }), shape("circle", { r: 6 }));
    backwards.filter(({ picked }) => picked).forEach(result);
    if (candidate) put(candidate, "you candidate", 10, shape("title", {}, "the place to add"), shape("path", { d: PIN }));
    this.marks.replaceChildren(...made);
  }

  // The ranks that have a number: of the pick and the first nine those that have room, best first.
  private numbered(covered: readonly Box[]): Set<number> {
    const { you, signal, results } = this.scene;
    const around = (at: Spot, room: number): Box => {
      const { x, y } = this.pixel(at);
      return { left: x - room, right: x + room, top: y - room, bottom: y + room };
    };
    const taken = [...covered, ...(you ? [around(you, 7)] : []), ...(signal ? [around(signal, 10)] : [])];
    const found = new Set<number>();
    const first = (results ?? []).filter(({ rank, picked }) => rank <= 9 || picked);
    for (const each of [...first].sort((a, b) => Number(b.picked) - Number(a.picked))) {
      const box = around(each, 10);
      if (taken.some((other) => overlaps(other, box)) && !(each.picked && !covered.some((other) => overlaps(other, box)))) continue;
      taken.push(box);
      found.add(each.rank);
    }
    return found;
  }

  // The towns of most people whose names have room beside the marks and each other. A mark may lie on the
  // dot of a town, a name may not.
  private paintTowns(taken: Box[]): void {
    const { width, height } = this.size();
    const corner = this.plane(this.middle);
    const [made, dots, names]: [SVGElement[], Box[], Box[]] = [[], [], []];
    for (const town of this.towns) {
      if (made.length >= MOST_TOWNS) break;
      const at = this.plane(town);
      const x = width / 2 + (at[0] - corner[0]) / this.kilometers;
      const y = height / 2 + (at[1] - corner[1]) / this.kilometers;
      if (x < 4 || x > width - 4 || y < 4 || y > height - 4) continue;
      const dot = { left: x - 4, right: x + 4, top: y - 4, bottom: y + 4 };
      if (names.some((each) => overlaps(each, dot))) continue;
      const letters = this.width(town);
      const side = SIDES.find((each) => {
        const box = boxOf(each, x, y, letters);
        const within = box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height;
        return within && ![...taken, ...names, ...dots].some((other) => overlaps(other, box));
      });
      if (side === undefined) continue;
      dots.push(dot);
      names.push(boxOf(side, x, y, letters));
      made.push(
        shape(
          "g",
          { class: town.large ? "town large" : "town", transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` },
          shape("circle", { r: town.large ? 3 : 2 }),
          shape("text", side, town.name),
        ),
      );
    }
    this.names.replaceChildren(...made);
  }

  // Pixels of a town's name, as page.css sets it.
  private width(town: Town): number {
    const known = this.widths.get(town);
    if (known !== undefined) return known;
    this.pen.font = `${town.large ? "600 13px" : "12px"} ${getComputedStyle(this.svg).fontFamily}`;
    const { width } = this.pen.measureText(town.name);
    this.widths.set(town, width);
    return width;
  }

  private paintScale(): void {
    const most = 110 * this.kilometers;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].find((step) => step * power <= most) ?? 1;
    const kilometers = length * power;
    const words = kilometers >= 1 ? `${kilometers} km` : `${Math.round(kilometers * 1000)} m`;
    const bar = element("i");
    bar.style.width = `${kilometers / this.kilometers}px`;
    this.scale.replaceChildren(bar, words);
  }

  private zoom(factor: number, at?: { x: number; y: number }): void {
    const before = this.kilometers;
    this.kilometers = limited(before * factor, CLOSEST, WIDEST);
    if (at) this.shift((at.x - this.size().width / 2) * (before - this.kilometers), (at.y - this.size().height / 2) * (before - this.kilometers));
    this.draw();
  }

  // Moves the middle by so many kilometers east and south.
  private shift(east: number, south: number): void {
    const [x, y] = this.plane(this.middle);
    this.middle = this.spot(x + east, y + south);
    this.draw();
  }

  private at(event: MouseEvent): { x: number; y: number } {
    const box = this.svg.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private named(x: number, y: number): Spot {
    const [left, top] = this.plane(this.middle);
    const { width, height } = this.size();
    return this.spot(left + (x - width / 2) * this.kilometers, top + (y - height / 2) * this.kilometers);
  }

  private down(event: PointerEvent): void {
    this.svg.setPointerCapture(event.pointerId);
    if (this.fingers.size === 0) this.moved = 0;
    this.fingers.set(event.pointerId, this.at(event));
  }

  private move(event: PointerEvent): void {
    const before = this.fingers.get(event.pointerId);
    if (before === undefined) return;
    const now = this.at(event);
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.moved += Math.hypot(now.x - before.x, now.y - before.y);
    this.fingers.set(event.pointerId, now);
    if (other === undefined) {
      if (this.moved > TAP) this.shift((before.x - now.x) * this.kilometers, (before.y - now.y) * this.kilometers);
      return;
    }
    const apart = (a: { x: number; y: number }) => Math.max(10, Math.hypot(a.x - other.x, a.y - other.y));
    this.zoom(apart(before) / apart(now), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
  }

  private up(event: PointerEvent): void {
    const last = this.fingers.size === 1 && this.fingers.has(event.pointerId);
    this.fingers.delete(event.pointerId);
    if (!last || this.moved > TAP || event.type === "pointercancel") return;
    const { x, y } = this.at(event);
    const rank = document.elementFromPoint(event.clientX, event.clientY)?.closest(".result")?.getAttribute("data-rank");
    if (rank) this.chosen(Number(rank));
    else this.tapped(this.named(x, y));
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.zoom(Math.exp(limited(event.deltaY, -200, 200) / 300), this.at(event));
  }

  private key(event: KeyboardEvent): void {
    const step = 60 * this.kilometers;
    const steps: Record<string, () => void> = {
      ArrowLeft: () => this.shift(-step, 0),
      ArrowRight: () => this.shift(step, 0),
      ArrowUp: () => this.shift(0, -step),
      ArrowDown: () => this.shift(0, step),
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      Enter: () => this.tapped(this.middle),
    };
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : steps[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  }
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const STAR = "M0-15L4.4-5.5L14.3-4.6L6.8 2.1L9 12.1L0 6.9L-9 12.1L-6.8 2.1L-14.3-4.6L-4.4-5.5Z";
const PIN = "M0 0C-3-8-9-11-9-18A9 9 0 1 1 9-18C9-11 3-8 0 0Z";

// Where a name may stand, from the dot of its town.
const SIDES = [
  { x: 7, y: 4, "text-anchor": "start" },
  { x: -7, y: 4, "text-anchor": "end" },
  { x: 0, y: -8, "text-anchor": "middle" },
  { x: 0, y: 17, "text-anchor": "middle" },
  { x: 14, y: 4, "text-anchor": "start" },
  { x: -14, y: 4, "text-anchor": "end" },
] as const;

// The pixels of a name there, so many wide.
function boxOf(side: (typeof SIDES)[number], x: number, y: number, letters: number): Box {
  const before = { start: 0, middle: letters / 2, end: letters }[side["text-anchor"]];
  const left = x + side.x - before;
  return { left: left - HALO, right: left + letters + HALO, top: y + side.y - 17, bottom: y + side.y + 8 };
}

function overlaps(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

// Whether any of a ring may be seen from a region.
function near(ring: Ring, middle: Spot, reach: { x: number; y: number }): boolean {
  for (let index = 0; index < ring.length; index += 2) {
    const east = Math.abs(wrapped((ring[index] ?? 0) - middle.longitude));
    if (east <= reach.x && Math.abs((ring[index + 1] ?? 0) - middle.latitude) <= reach.y) return true;
  }
  return false;
}

function flat(spots: readonly Spot[]): number[] {
  return spots.flatMap(({ latitude, longitude }) => [longitude, latitude]);
}

function limited(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

function wrapped(degrees: number): number {
  return ((((degrees + 180) % 360) + 360) % 360) - 180;
}
