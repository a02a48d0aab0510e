/** The trace of a call as a waterfall: a row for each span, below its parent, and a bar for its time. */
import type { ReceivedSpan } from '#test/fakes/otlp-receiver.ts';
import { escapeXml, svgOf, ticks, titleOf } from '../svg.ts';

/** The parts of a span that are drawn. */
export type DrawnSpan = Pick<
  ReceivedSpan,
  'spanId' | 'parentId' | 'name' | 'startMs' | 'endMs' | 'status' | 'attributes'
>;

/** A row of the picture. Times are ms since the root began. */
export interface Row {
  readonly name: string;
  /** Spans above it. */
  readonly depth: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** `error.type` of failed work. */
  readonly error: string | null;
  readonly colour: string;
}

/** Work that follows a call: the picture ends with the call. */
const AFTERWARDS = /^(?:analysis$|webhook )/;
const COLOURS: Readonly<Record<string, string>> = {
  speech_to_text: '#2f5bb7',
  chat: '#7a4fb5',
  execute_tool: '#c2571a',
  retrieval: '#b0892c',
  text_to_speech: '#2e8b57',
};
const [FRAME, LATENCY, FAILED] = ['#8a94a6', '#c3cbd8', '#b3261e'];
/** Spans that contain the work of others. */
const CONTAINERS = new Set(['invoke_agent', 'turn']);
const ROW = { height: 20, indent: 14, top: 34 };
const AREA = { left: 260, width: 560, right: 16 };
const ERROR_STATUS = 2;
const STEPS_MS = [100, 250, 500, 1_000, 2_500, 5_000, 10_000];
const MOST_TICKS = 12;

/** The rows of a call's trace, each span before those below it. Throws without a root. */
export function rowsOf(spans: readonly DrawnSpan[]): Row[] {
  const root = spans.find(({ parentId }) => parentId === null);
  if (!root) throw new Error('the trace has no root');
  const rows: Row[] = [];
  const add = (span: DrawnSpan, depth: number): void => {
    if (AFTERWARDS.test(span.name)) return;
    rows.push(rowOf(span, depth, root.startMs));
    const below = spans.filter(({ parentId }) => parentId === span.spanId);
    // A longer span that began at the same time contains the others.
    below.sort((one, other) => one.startMs - other.startMs || other.endMs - one.endMs);
    for (const child of below) add(child, depth + 1);
  };
  add(root, 0);
  return rows;
}

/** The picture (SVG) of a call's trace. */
export function waterfallOf(title: string, spans: readonly DrawnSpan[]): string {
  const rows = rowsOf(spans);
  const mostMs = Math.max(1, ...rows.map(({ toMs }) => toMs));
  const x = (ms: number) => AREA.left + (ms / mostMs) * AREA.width;
  const height = ROW.top + rows.length * ROW.height + 26;
  const stepMs = STEPS_MS.find((step) => mostMs / step <= MOST_TICKS) ?? 30_000;
  const shapes = [
    titleOf(escapeXml(title)),
    ...ticks(mostMs, stepMs).map(
      (ms) =>
        `<path d="M${x(ms).toFixed(1)} ${ROW.top - 4}V${height - 22}" stroke="#ddd"/>` +
        `<text x="${x(ms).toFixed(1)}" y="${height - 8}" text-anchor="middle" fill="#666">` +
        `${ms / 1_000} s</text>`,
    ),
    ...rows.map((row, index) => shapeOf(row, ROW.top + index * ROW.height, x)),
  ];
  return svgOf({ width: AREA.left + AREA.width + AREA.right, height }, shapes);
}

function rowOf(span: DrawnSpan, depth: number, rootMs: number): Row {
  const { attributes, endMs, name, startMs, status } = span;
  const isFailed = status === ERROR_STATUS;
  const [operation = ''] = name.split(' ');
  const usual = COLOURS[operation] ?? (CONTAINERS.has(operation) ? FRAME : LATENCY);
  return {
    name,
    depth,
    fromMs: startMs - rootMs,
    toMs: endMs - rootMs,
    error: isFailed ? String(attributes['error.type'] ?? 'error') : null,
    colour: isFailed ? FAILED : usual,
  };
}

/** A name, a bar, and how long it took: to the right of the bar, or to its left near the edge. */
function shapeOf(row: Row, y: number, x: (ms: number) => number): string {
  const { colour, depth, error, fromMs, name, toMs } = row;
  const [from, to] = [x(fromMs), x(toMs)];
  const words = `${formatted(toMs - fromMs)}${error === null ? '' : ` · ${error}`}`;
  const isNearEdge = to > AREA.left + AREA.width - 150;
  const hasRoomInside = to - from > 150;
  const [at, anchor] = !isNearEdge ? [to + 5, 'start'] : hasRoomInside ? [to - 5, 'end'] : [from - 5, 'end'];
  const ink = isNearEdge && hasRoomInside ? '#fff' : error === null ? '#666' : FAILED;
  return [
    `<text x="${8 + depth * ROW.indent}" y="${y + 14}" fill="#333">${escapeXml(name)}</text>`,
    `<rect x="${from.toFixed(1)}" y="${y + 3}" width="${Math.max(1.5, to - from).toFixed(1)}" height="14" ` +
      `rx="2" fill="${colour}"/>`,
    `<text x="${at.toFixed(1)}" y="${y + 14}" text-anchor="${anchor}" fill="${ink}">` +
      `${escapeXml(words)}</text>`,
  ].join('');
}

function formatted(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(2)} s`;
}
