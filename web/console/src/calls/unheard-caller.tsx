/** Says that the agent hears nothing of the caller, and which address of the phone or firewall to look at. */
import { Alert } from '@mantine/core';
import type { SessionDetail } from '../api/types.ts';

type Unheard = NonNullable<NonNullable<SessionDetail['media_quality']>['unheard']>;

export function UnheardCaller({ session, isLive }: { session: SessionDetail; isLive: boolean }) {
  const unheard = session.media_quality?.unheard;
  if (!unheard) return null;
  return (
    <Alert
      color="red"
      variant="outline"
      title={isLive ? 'Nothing is heard from the caller' : 'Nothing was heard from the caller'}
    >
      {reasonOf(unheard)}
    </Alert>
  );
}

function reasonOf({ expected_address: expected, refused_addresses: refused, unreadable_packets }: Unheard) {
  const unreadable = unreadable_packets ?? 0;
  const from = expected ?? 'the media relay';
  const came = [
    ...(refused.length > 0 ? [`packets came from ${refused.join(', ')} and were refused`] : []),
    ...(unreadable > 0
      ? [`unreadable packets: ${unreadable} or more; is the audio encrypted, or of another codec?`]
      : []),
  ];
  if (came.length > 0) return `No audio arrived from ${from}; ${came.join('; ')}`;
  return expected === null
    ? 'No audio arrived from the media relay: ask the operator.'
    : `No packet arrived from ${expected}: look for a firewall, or a phone behind NAT.`;
}
