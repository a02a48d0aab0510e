/** The doctor's check of the media relays. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '#base/clock.ts';
import type { Settings } from '#config/env.ts';
import { createNgClient } from '#telephony/relay/ng-client.ts';
import type { CheckResult } from './check-result.ts';

/** Checks that each relay (RTPENGINE) answers this machine. */
export async function* checkRelays({ RTPENGINE }: Settings): AsyncGenerator<CheckResult> {
  for (const address of RTPENGINE) {
    const relay = createNgClient(address, { clock: systemClock, cookie: randomUUID });
    try {
      await relay.ask({ command: 'ping' });
      yield { subject: 'Media relay', verdict: 'ok', result: `rtpengine answers at ${relay.name}` };
    } catch (error) {
      yield {
        subject: 'Media relay',
        verdict: 'failed',
        result: (error as Error).message,
        fix: 'start it, and set RTPENGINE to its listen-ng address; without a relay, phone calls are refused',
      };
    } finally {
      relay.close();
    }
  }
}
