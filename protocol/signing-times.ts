/** When the parts of an exported call were signed, in few lines. */
import type { CallPart, ReadCallFile } from './call-file.ts';
import { isLine, nameOf, type PartLabel } from './call-parts.ts';

/** Parts of one kind, such as the sound of one side. */
export interface SigningTimes {
  readonly name: string;
  /** Signed in the call: how many, and the first and the last time, RFC 3339. */
  readonly inCall: number;
  readonly from: string | null;
  readonly to: string | null;
  /** Signed when the call was exported, and not before. */
  readonly atExport: number;
  /** Signed in the call and not in the file: they were lost, or deleted since. */
  readonly missing: number;
}

/** The times of all parts but the links; empty in a file without a chain. */
export function signingTimes({ parts, chain }: Pick<ReadCallFile, 'parts' | 'chain'>): SigningTimes[] {
  if (!chain) return [];
  const groups = new Map<string, { signed: string[]; atExport: number; missing: number }>();
  const groupOf = (label: PartLabel) => {
    const name = groupName(label);
    const group = groups.get(name) ?? { signed: [], atExport: 0, missing: 0 };
    groups.set(name, group);
    return group;
  };
  for (const part of parts) {
    if (part.label.kind === 'chain') continue;
    const signedAt = signedInCall(part, chain);
    if (signedAt === null) groupOf(part.label).atExport += 1;
    else groupOf(part.label).signed.push(signedAt);
  }
  for (const { label } of chain.missing) groupOf(label).missing += 1;
  return [...groups].map(([name, { signed, ...counts }]) => {
    const times = signed.toSorted();
    return { name, inCall: times.length, from: times[0] ?? null, to: times.at(-1) ?? null, ...counts };
  });
}

/** When a part was signed in the call; null if it was signed at the export only. */
export function signedInCall({ digest }: CallPart, chain: NonNullable<ReadCallFile['chain']>): string | null {
  return chain.signedAt.get(digest) ?? null;
}

/** The times for people; `at` writes a time. */
export function timesText(
  { inCall, from, to, atExport, missing }: SigningTimes,
  at: (time: string) => string,
): string {
  const texts = [
    ...(from !== null && to !== null ? [`${inCall} signed in the call ${spanText(at(from), at(to))}`] : []),
    ...(atExport > 0 ? [`${atExport} only at the export`] : []),
    ...(missing > 0 ? [`${missing} missing`] : []),
  ];
  return texts.join(', ');
}

function spanText(from: string, to: string): string {
  return from === to ? `at ${from}` : `from ${from} to ${to}`;
}

function groupName(label: PartLabel): string {
  return isLine(label) ? 'transcript' : nameOf(label, 0);
}
