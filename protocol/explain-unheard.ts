/** Why nothing was heard from a caller, for people. */
import type { UnheardCaller } from './session-record.ts';

/** One sentence: where audio was expected from, and what came instead. */
export function explainUnheard({
  expected_address: expected,
  refused_addresses: refused,
  unreadable_packets: unreadable = 0,
}: UnheardCaller): string {
  const came = [
    ...(refused.length > 0 ? [`packets came from ${refused.join(', ')} and were refused`] : []),
    ...(unreadable > 0
      ? [`unreadable packets: ${unreadable} or more; is the audio encrypted, or of another codec?`]
      : []),
  ];
  if (came.length > 0) return `No audio arrived from ${expected ?? 'the media relay'}; ${came.join('; ')}`;
  return expected === null
    ? 'No audio arrived from the media relay: ask the operator'
    : `No packet arrived from ${expected}: look for a firewall, or a phone behind NAT`;
}
