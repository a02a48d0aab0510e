/** Rooms of a folder and the imports between them. Pure. */

/** An import of one file by another; both as paths from the root. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** Figures of a folder. */
export interface Figures {
  readonly rooms: readonly string[];
  /** Length of the longest chain of rooms that import one another. */
  readonly floors: number;
  /** Pairs of rooms of which one imports the other. */
  readonly arrows: number;
  /** Rooms that import one another, directly or indirectly. */
  readonly circles: readonly (readonly string[])[];
}

/** Folders whose subfolders are rooms. */
const SPLIT: ReadonlySet<string> = new Set(['runtime/turn']);

/** The figures of a folder. Files beside its rooms compose them and are not rooms. */
export function figuresOf(house: string, imports: readonly Import[]): Figures {
  const arrows = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    const [room, other] = [roomOf(house, from), roomOf(house, to)];
    if (room !== null && !arrows.has(room)) arrows.set(room, new Set());
    if (room !== null && other !== null && room !== other) arrows.get(room)?.add(other);
  }
  const circles = circlesOf(arrows);
  return {
    rooms: [...arrows.keys()].toSorted(),
    floors:
      circles.length > 0
        ? Number.POSITIVE_INFINITY
        : Math.max(0, ...[...arrows.keys()].map((room) => floorOf(room, arrows))),
    arrows: [...arrows.values()].reduce((sum, { size }) => sum + size, 0),
    circles,
  };
}

function roomOf(house: string, file: string): string | null {
  if (!file.startsWith(`${house}/`)) return null;
  const [first, second, ...rest] = file.slice(house.length + 1).split('/');
  if (first === undefined || second === undefined) return null;
  return SPLIT.has(`${house}/${first}`) && rest.length > 0 ? `${first}/${second}` : first;
}

function floorOf(room: string, arrows: ReadonlyMap<string, ReadonlySet<string>>): number {
  return 1 + Math.max(0, ...[...(arrows.get(room) ?? [])].map((other) => floorOf(other, arrows)));
}

/** Rooms reachable from each room; those that reach one another form a circle. */
function circlesOf(arrows: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reached = new Map([...arrows.keys()].map((room) => [room, reachedFrom(room, arrows)]));
  const circles: string[][] = [];
  for (const [room, others] of reached) {
    if (!others.has(room) || circles.some((circle) => circle.includes(room))) continue;
    circles.push([...others].filter((other) => reached.get(other)?.has(room)).toSorted());
  }
  return circles;
}

function reachedFrom(room: string, arrows: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set<string>();
  const open = [room];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const other of arrows.get(next) ?? []) {
      if (reached.has(other)) continue;
      reached.add(other);
      open.push(other);
    }
  }
  return reached;
}
