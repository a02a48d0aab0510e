/** The doctor's check of the media relays. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '#base/clock.ts';
import type { Settings } from '#config/env.ts';
import { createNgClient } from '#telephony/relay/ng-client.ts';
import type { Finding } from './check-result.ts';

/** Whether each of them answers this machine; workers use them. */
export async function* checkRelays({ RTPENGINE }: Settings): AsyncGenerator<Finding> {
  for (const address of RTPENGINE) {
    const relay = createNgClient(address, { clock: systemClock, cookie: randomUUID });
    try {
      await relay.ask({ command: 'ping' });
      yield { what: 'Media relay', verdict: 'ok', found: `rtpengine answers at ${relay.name}` };
    } catch (error) {
      yield {
        what: 'Media relay',
        verdict: 'failed',
        found: (error as Error).message,
        advice:
          'phone calls are refused while no relay answers: start it, and make its listen-ng match RTPENGINE',
      };
    } finally {
      relay.close();
    }
  }
}
