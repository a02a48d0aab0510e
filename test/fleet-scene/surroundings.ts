/**
 * What the fleet finds outside: engines and a webhook endpoint of a tenant behind doors that its hosts reach,
 * a LiveKit server, and a dispatcher in front of the signalling servers.
 */
import { type StandIns, startStandIns } from '#bench/stand-ins.ts';
import { type Kamailio, startDispatcher } from '#test/fakes/kamailio.ts';
import { type Link, openLink } from '#test/fakes/link.ts';
import { type LivekitServer, startLivekitServer } from '#test/fakes/livekit-server.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { has } from '#test/needs.ts';
import { OUTSIDE } from './network.ts';

/** Running surroundings. */
export interface Surroundings {
  /** Settings that point the fleet at them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly tenant: WebhookReceiver;
  /** The tenant's endpoint for the fleet. */
  readonly webhookUrl: string;
  readonly hasRooms: boolean;
  close(): Promise<void>;
}

/** Starts them in the namespace of this process; there are rooms where a LiveKit server is installed. */
export async function openSurroundings(): Promise<Surroundings> {
  const doors: Link[] = [];
  const tenant = await openWebhookReceiver();
  const standIns: StandIns = await startStandIns();
  const livekit: LivekitServer | null = has(['livekit-server'])
    ? await startLivekitServer({ address: OUTSIDE })
    : null;

  /** The same URL for the fleet's hosts. */
  const exposed = async (url: string) => {
    const inner = new URL(url);
    const door = await openLink(Number(inner.port), { address: OUTSIDE });
    doors.push(door);
    return url.replace(inner.host, `${OUTSIDE}:${door.port}`);
  };
  const engines: Record<string, string> = {};
  for (const [name, value] of Object.entries(standIns.environment))
    engines[name] = URL.canParse(value) && value.includes('127.0.0.1') ? await exposed(value) : value;
  return {
    settings: { ...engines, ...livekit?.environment },
    tenant,
    webhookUrl: `${await exposed(tenant.url)}/hook`,
    hasRooms: livekit !== null,
    async close() {
      await Promise.all(doors.map((door) => door.close()));
      await livekit?.close();
      await standIns.close();
      await tenant.close();
    },
  };
}

/** The dispatcher of the documentation where Kamailio is installed; otherwise null. */
export function openDispatcher(sipAddresses: readonly string[]): Promise<Kamailio> | null {
  return has(['kamailio']) ? startDispatcher(sipAddresses, OUTSIDE) : null;
}
