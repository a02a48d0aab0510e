/** The pictures of docs/traces.md, and how they are compared with the trace of another call. */
import { readFileSync, writeFileSync } from 'node:fs';
import { waterfallOf } from './waterfall.ts';

/** The calls that are drawn. */
export const PICTURES = {
  'booked.svg': 'A caller books a table, and the agent asks a tool',
  'outage.svg': 'The vendor of the model is out of order, and the caller hears an apology',
} as const;
export type Picture = keyof typeof PICTURES;

type Spans = Parameters<typeof waterfallOf>[1];

const IMAGES = new URL('../../docs/images/traces/', import.meta.url);

/** Draws the trace of a call into the documentation. */
export function writePicture(picture: Picture, spans: Spans): void {
  writeFileSync(new URL(picture, IMAGES), waterfallOf(PICTURES[picture], spans));
}

/** The names in a picture of the documentation: each once, sorted. */
export function namesInPicture(picture: Picture): string[] {
  return namesIn(readFileSync(new URL(picture, IMAGES), 'utf8'));
}

/** The names that a picture of this trace would have. */
export function namesInTrace(spans: Spans): string[] {
  return namesIn(waterfallOf('', spans));
}

/** A part of the latency that took no time has no span. So they differ from call to call. */
const PARTS: ReadonlySet<string> = new Set([
  'endpointing',
  'asr final',
  'llm first token',
  'llm first sentence',
  'tts first audio',
  'playout',
]);

function namesIn(svg: string): string[] {
  const names = [...svg.matchAll(/ fill="#333">([^<]*)</g)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => !PARTS.has(name)).sort();
}
