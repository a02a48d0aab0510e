/**
 * The parts of a call of which a chain was signed while it ran: each piece of its sound and of its flight log
 * is a part, as the chain has it, and so is each link.
 */
import { SealBroken } from '#base/sealer.ts';
import { LIMITS } from '#config/limits.ts';
import { FLAC_HEAD_BYTES, flacFile } from '#media/speech/audio/flac-format.ts';
import { type Addition, parseAddition } from '#protocol/call-chain.ts';
import { inputsLabel, lineLabel, type SoundLabel, soundLabel } from '#protocol/call-parts.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { type KnownLink, linksOf } from '../sessions/call-chain.ts';
import type { PlacedItem } from '../sessions/timeline.ts';
import { audioOf, isLineRedacted, jsonPart, type Part, type Redaction } from './call-file-part.ts';
import { bytesOfCut, type Cut, cutObject } from './cut-object.ts';
import { getSegmentFile, type ReadableSegment, readLogObjects } from './recording-store.ts';

/** A call, and its chain as it was signed. */
export interface ChainedCall {
  readonly context: Context;
  readonly session: SessionDocument;
  readonly links: readonly KnownLink[];
  /** Finds what was signed, by track or `log`, epoch and piece. */
  signedAs(place: string): Addition | undefined;
}

/** Null if the call began before calls were signed while they run. */
export function chainedCall(context: Context, session: SessionDocument): ChainedCall | null {
  if (!session.chain_head) return null;
  const links = linksOf(context, session);
  const byPlace = signedPieces(links);
  return { context, session, links, signedAs: (place) => byPlace.get(place) };
}

/** Entries of the transcript, in their order. */
export function lineParts(items: readonly PlacedItem[], redactions: ReadonlySet<Redaction>): Part[] {
  return items.map(({ item, epoch, seq, entry }, index) =>
    jsonPart(lineLabel({ epoch, seq, entry }), item, isLineRedacted(redactions, index + 1)),
  );
}

/** Inputs of the turn machine. Those that cannot be read are missing. */
export async function inputsParts(
  { context, session, signedAs }: ChainedCall,
  isRedacted: boolean,
): Promise<Part[]> {
  const objects = await readLogObjects(context, session, LIMITS.replayedLogBytes);
  return objects.flatMap(({ object, lines }) => {
    if (!lines) return [];
    const cuts = cutObject(object, (piece) => signedAs(`log ${object.epoch} ${piece}`));
    return cuts.map(({ piece, pieces }, at): Part => {
      const label = inputsLabel({ epoch: object.epoch, piece, pieces });
      return { label, isRedacted, content: async () => bytesOfCut(cuts, at, lines) };
    });
  });
}

/** The sound of all sides. */
export function soundParts(
  { context, session, signedAs }: ChainedCall,
  segments: readonly ReadableSegment[],
  redactions: ReadonlySet<Redaction>,
): Part[] {
  // Parts of one object follow each other: no other one is kept meanwhile.
  let read: { readonly of: ReadableSegment; readonly file: Promise<Buffer | null> } | null = null;
  const fileOf = (segment: ReadableSegment) => {
    if (read?.of !== segment) read = { of: segment, file: getSegmentFile(context, session, segment) };
    return read.file;
  };
  return segments.flatMap((segment) => {
    const cuts = cutObject(segment, (piece) => signedAs(`${segment.role} ${segment.epoch} ${piece}`));
    const labels = labelsOf(segment, cuts);
    const isInChain = cuts.some(({ signed }) => signed !== null);
    return cuts.map((cut, at): Part => {
      const label = labels[at] ?? wholeLabel(segment);
      const content = async () => {
        const file = await opened(fileOf(segment), isInChain);
        if (file === 'broken') return null;
        if (!file) throw new Error('a part of the recording was deleted while it was exported');
        if (cut.pieces === segment.pieces && !cut.signed) return file;
        const frames = bytesOfCut(cuts, at, file.subarray(FLAC_HEAD_BYTES));
        return flacFile([frames], { rateHz: label.rate_hz, samples: label.samples });
      };
      return { label, isRedacted: redactions.has(audioOf(segment.role)), content };
    });
  });
}

/** The chain misses an object that it has and that cannot be decrypted; without a chain the export fails. */
async function opened(file: Promise<Buffer | null>, isInChain: boolean): Promise<Buffer | null | 'broken'> {
  try {
    return await file;
  } catch (error) {
    if (error instanceof SealBroken && isInChain) return 'broken';
    throw error;
  }
}

/** The links, which have nothing to redact. */
export function chainParts({ links }: ChainedCall): Part[] {
  return links.map(({ link, signature }, number) =>
    jsonPart({ kind: 'chain', number }, { link, signature }, false),
  );
}

/** The signed pieces of sound and log, by track or `log`, epoch and piece. */
function signedPieces(links: readonly KnownLink[]): Map<string, Addition> {
  const byPlace = new Map<string, Addition>();
  for (const { adds, epoch } of links)
    for (const text of adds) {
      const addition = parseAddition(text, epoch);
      if (!addition || addition.label.kind === 'line') continue;
      const track = addition.label.kind === 'sound' ? addition.label.side : 'log';
      byPlace.set(`${track} ${epoch} ${addition.label.piece}`, addition);
    }
  return byPlace;
}

function wholeLabel({ role, epoch, index, pieces, ...segment }: ReadableSegment): SoundLabel {
  return soundLabel({
    ...{ side: role, epoch, piece: index, pieces, packing: segment.packing === 'pcm' ? 'wav' : 'flac' },
    ...{ start_ms: segment.startMs, rate_hz: segment.rateHz, samples: segment.samples },
  });
}

/** As signed; what was not signed lies between the others. */
function labelsOf(segment: ReadableSegment, cuts: readonly Cut[]): SoundLabel[] {
  const whole = wholeLabel(segment);
  const samplesOf = ({ signed }: Cut) => (signed?.label.kind === 'sound' ? signed.label.samples : 0);
  const signedSamples = cuts.reduce((sum, cut) => sum + samplesOf(cut), 0);
  let before = 0;
  return cuts.map((cut) => {
    const { piece, pieces, signed } = cut;
    const start_ms = whole.start_ms + Math.round((before * 1_000) / whole.rate_hz);
    before += samplesOf(cut);
    if (signed?.label.kind === 'sound') return signed.label;
    const samples = Math.max(0, whole.samples - signedSamples);
    before += samples;
    return soundLabel({ ...whole, piece, pieces, start_ms, samples });
  });
}
