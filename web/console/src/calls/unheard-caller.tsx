/** Says that the agent hears nothing of the caller, and which address of the phone or firewall to look at. */
import { Alert } from '@mantine/core';
import { explainUnheard } from '#protocol/explain-unheard.ts';
import type { SessionDetail } from '../api/types.ts';

export function UnheardCaller({ session, isLive }: { session: SessionDetail; isLive: boolean }) {
  const unheard = session.media_quality?.unheard;
  if (!unheard) return null;
  return (
    <Alert
      color="red"
      variant="outline"
      title={isLive ? 'Nothing is heard from the caller' : 'Nothing was heard from the caller'}
    >
      {explainUnheard(unheard)}
    </Alert>
  );
}
