/**
 * Phones that register: asks the control plane what to answer (protocol/sip-register.ts). Strangers who send
 * many take no time from the calls of this worker.
 */
import { networkOf } from '#base/client-network.ts';
import type { Logger } from '#base/log.ts';
import { TokenBuckets } from '#base/token-buckets.ts';
import { askedHeaders, registerAnswer } from '#protocol/sip-register.ts';
import { longName } from '#telephony/embedded/message.ts';
import type { AnswerRegister, IncomingRegister, RegisterReply } from '#telephony/signalling.ts';
import { askControlPlane, type ControlPlaneAccess } from '../link/ask-control-plane.ts';

/** Of one network: an office whose phones all start at once needs two each. */
const ALLOWED = { perSecond: 10, burst: 400 };
/** At once, of all networks. */
const MAX_ASKED = 64;
const ANSWER_WITHIN_MS = 5_000;

/** Dependencies of the question. */
export interface RegistrarDeps extends ControlPlaneAccess {
  readonly logger: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** The registrar of a worker. */
export function registrarOf(deps: RegistrarDeps): AnswerRegister {
  const buckets = new TokenBuckets(deps.clock, ALLOWED);
  let asked = 0;
  return async (register) => {
    const isTooMany = asked >= MAX_ASKED || !buckets.of(networkOf(register.sourceAddress)).tryTake(1);
    if (isTooMany) return comeBack(deps);
    asked += 1;
    try {
      return await ask(deps, register);
    } catch (error) {
      deps.logger.warn({ err: error }, 'no answer whether a phone may register');
      return comeBack(deps);
    } finally {
      asked -= 1;
    }
  };
}

async function ask(
  deps: RegistrarDeps,
  { uri, headers: all, sourceAddress, sourcePort, transport, server }: IncomingRegister,
): Promise<RegisterReply> {
  const headers = askedHeaders(all, longName);
  if (headers === null) return { status: 413, reason: 'Request Entity Too Large', headers: [] };
  const place = { source_address: sourceAddress, source_port: sourcePort, transport, server };
  return askControlPlane(deps, {
    path: '/internal/sip/register',
    body: { uri, headers, ...place },
    answer: registerAnswer,
    withinMs: ANSWER_WITHIN_MS,
  });
}

/** Not all phones in the same second. */
function comeBack({ random }: RegistrarDeps): RegisterReply {
  const seconds = Math.round(5 + 25 * random());
  return {
    status: 503,
    reason: 'Service Unavailable',
    headers: [{ name: 'Retry-After', value: String(seconds) }],
  };
}
