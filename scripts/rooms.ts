/**
 * Rooms of a folder and the imports between them, compared with their order (room-order.json, which the
 * import rules use too). Pure.
 */

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
  /** Imports of a room that is not below the importing one. */
  readonly up: readonly Import[];
  /** Rooms that import one another, directly or indirectly. */
  readonly circles: readonly (readonly string[])[];
}

/** The order of a folder's rooms. */
export interface RoomOrder {
  /** Lowest first. */
  readonly rooms: readonly string[];
  /**
   * The file that composes the rooms and is above them, if the rooms share the other files of the folder.
   * Otherwise all files directly in the folder compose the rooms.
   */
  readonly composer?: string;
}

/** The figures of a folder. */
export function figuresOf(folder: string, order: RoomOrder, imports: readonly Import[]): Figures {
  const arrows = new Map<string, Set<string>>();
  const up: Import[] = [];
  for (const { from, to } of imports) {
    const [room, other] = [roomOf(folder, order, from), roomOf(folder, order, to)];
    if (room === null) continue;
    if (!arrows.has(room)) arrows.set(room, new Set());
    if (other !== null && room !== other) arrows.get(room)?.add(other);
    if (room !== other && isWithin(folder, to) && levelOf(folder, order, to) >= levelOf(folder, order, from))
      up.push({ from, to });
  }
  const circles = circlesOf(arrows);
  return {
    rooms: [...arrows.keys()].toSorted(),
    floors:
      circles.length > 0
        ? Number.POSITIVE_INFINITY
        : Math.max(0, ...[...arrows.keys()].map((room) => floorOf(room, arrows))),
    arrows: [...arrows.values()].reduce((sum, { size }) => sum + size, 0),
    up,
    circles,
  };
}

/** Null for a file outside the folder or directly in it. A subfolder missing from the order is a room too. */
function roomOf(folder: string, { rooms }: RoomOrder, file: string): string | null {
  if (!isWithin(folder, file)) return null;
  const path = file.slice(folder.length + 1);
  const known = rooms.find((room) => path.startsWith(`${room}/`));
  return known ?? (path.includes('/') ? (path.split('/')[0] ?? null) : null);
}

function isWithin(folder: string, file: string): boolean {
  return file.startsWith(`${folder}/`);
}

/** Position from the bottom; files that compose the rooms, and rooms missing from the order, are on top. */
function levelOf(folder: string, order: RoomOrder, file: string): number {
  const room = roomOf(folder, order, file);
  if (room !== null) return order.rooms.includes(room) ? order.rooms.indexOf(room) : order.rooms.length;
  return order.composer === undefined || file === `${folder}/${order.composer}` ? order.rooms.length : -1;
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
