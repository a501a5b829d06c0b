// Make src/map/land.ts, the outline of the land: `npm run map`, after a new version of world-atlas.
// Natural Earth's 1:110m land (public domain, https://www.naturalearthdata.com/about/terms-of-use/),
// as TopoJSON in the npm package world-atlas (ISC). Coarser still: a map of cities needs no fjords.
import { readFileSync, writeFileSync } from "node:fs";

const STEP = 0.5; // degrees: 2 pixels of a map that is 1,500 pixels wide
const SMALLEST = 8; // square degrees: smaller islands are left out
const SOUTH = -56; // degrees: Antarctica is left out

const { objects, arcs, transform } = JSON.parse(readFileSync("node_modules/world-atlas/land-110m.json", "utf8"));
const [scaleX, scaleY] = transform.scale;
const [left, bottom] = transform.translate;

/** The points of an arc in degrees; a negative number is the arc `~number` backwards. */
function points(number) {
  let [x, y] = [0, 0];
  const line = arcs[number < 0 ? ~number : number].map(([dx, dy]) => {
    [x, y] = [x + dx, y + dy];
    return [x * scaleX + left, y * scaleY + bottom];
  });
  return number < 0 ? line.reverse() : line;
}

/** A ring without the jump between 180° east and west: Siberia goes on to 190° east. */
function unbroken(ring) {
  let turn = 0;
  const line = ring.map(([lon, lat], at) => {
    const step = at === 0 ? 0 : lon - ring[at - 1][0];
    if (Math.abs(step) > 180) turn -= Math.sign(step) * 360;
    return [lon + turn, lat];
  });
  const middle = line.reduce((sum, [lon]) => sum + lon, 0) / line.length;
  const back = Math.abs(middle) > 180 ? -Math.sign(middle) * 360 : 0;
  return line.map(([lon, lat]) => [lon + back, lat]);
}

/** A ring on the grid, without repetitions and points in the middle of a straight line. */
function coarse(ring) {
  const rounded = unbroken(ring.flatMap(points)).map(([lon, lat]) => [Math.round(lon / STEP), Math.round(-lat / STEP)]);
  const different = rounded.filter(([x, y], at) => at === 0 || x !== rounded[at - 1][0] || y !== rounded[at - 1][1]);
  return different.filter(([x, y], at) => {
    const [before, after] = [different[at - 1], different[at + 1]];
    return !before || !after || (x - before[0]) * (after[1] - y) !== (y - before[1]) * (after[0] - x);
  });
}

function area(ring) {
  const twice = ring.reduce((sum, [x, y], at) => {
    const [nextX, nextY] = ring[(at + 1) % ring.length];
    return sum + x * nextY - nextX * y;
  }, 0);
  return (Math.abs(twice) / 2) * STEP * STEP;
}

function path([first, ...rest]) {
  let [x, y] = first;
  const steps = rest.map(([nextX, nextY]) => {
    const step = `${nextX - x} ${nextY - y}`;
    [x, y] = [nextX, nextY];
    return step;
  });
  return `M${first.join(" ")}l${steps.join(" ").replaceAll(" -", "-")}z`;
}

const rings = objects.land.geometries
  .flatMap(({ type, arcs: polygons }) => (type === "Polygon" ? [polygons] : polygons))
  .map(([outer]) => coarse(outer))
  .filter((ring) => area(ring) >= SMALLEST && ring.some(([, y]) => -y * STEP > SOUTH));

const text = `/** The land: Natural Earth 1:110m, public domain, made coarser by map.mjs. A file that map.mjs writes. */

/** Degrees of a step of LAND, which runs from west to east and from north to south. */
export const STEP = ${STEP};

export const LAND =
  "${rings.map(path).join("")}";
`;
writeFileSync("src/map/land.ts", text);
console.log(`${rings.length} rings, ${text.length} bytes`);
