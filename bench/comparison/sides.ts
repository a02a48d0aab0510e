/** Every side of the comparison, in the order of the page's columns. */
import { livekitInJavascript, livekitInPython } from './livekit-agents-side.ts';
import { parley } from './parley-side.ts';
import { pipecat } from './pipecat-side.ts';
import type { SideKind } from './side.ts';

/** The sides. The first one is the one that the others are compared with. */
export const SIDE_KINDS: readonly SideKind[] = [
  parley,
  livekitInJavascript('documented'),
  livekitInJavascript('speech'),
  livekitInPython('documented'),
  livekitInPython('speech'),
  pipecat('documented'),
  pipecat('speech'),
];

/** The sides with these ids, separated by commas; all without. Throws if one does not exist. */
export function sideKinds(ids: string | undefined): readonly SideKind[] {
  if (ids === undefined) return SIDE_KINDS;
  const chosen = ids.split(',');
  const unknown = chosen.find((id) => !SIDE_KINDS.some((kind) => kind.id === id));
  if (unknown !== undefined)
    throw new Error(`no side is called ${unknown}; there are ${SIDE_KINDS.map(({ id }) => id).join(', ')}`);
  return SIDE_KINDS.filter(({ id }) => chosen.includes(id));
}
