/**
 * Objects of some pieces. Each begins where the worker's object begins, or is one piece: so of two objects
 * with the same pieces, one contains the other, also if two senders have stored them.
 */
import type { PieceHead, Upload } from './uploads.ts';

/** Joins the consecutive pieces from the beginning of each object. */
export function joinPieces(pieces: readonly Upload[]): Upload[] {
  const runs: [Upload, ...Upload[]][] = [];
  for (const piece of pieces.toSorted((a, b) => a.head.piece - b.head.piece)) {
    const run = runs.find(([first, ...rest]) => isNext(first.head, (rest.at(-1) ?? first).head, piece.head));
    if (run) run.push(piece);
    else runs.push([piece]);
  }
  return runs.map(joinRun);
}

function isNext(first: PieceHead, last: PieceHead, next: PieceHead): boolean {
  return (
    streamOf(first) === streamOf(next) &&
    first.object === next.object &&
    first.piece === first.object &&
    last.piece + last.pieces === next.piece
  );
}

/** The track, or the log. */
export function streamOf(head: PieceHead): string {
  return head.type === 'log' ? 'log' : head.track;
}

function joinRun(run: readonly [Upload, ...Upload[]]): Upload {
  const { stored_before: _, ...first } = run[0].head;
  const pieces = run.reduce((sum, { head }) => sum + head.pieces, 0);
  const samples = run.reduce((sum, { head }) => sum + (head.type === 'audio' ? head.samples : 0), 0);
  const whole = { ...first, pieces, is_part: false };
  return {
    head: (first.type === 'audio' ? { ...whole, samples } : whole) as PieceHead,
    bytes: Buffer.concat(run.map(({ bytes }) => bytes)),
  };
}
