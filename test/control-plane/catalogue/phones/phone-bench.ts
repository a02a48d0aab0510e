/**
 * Phones of an account over the real API, and REGISTERs as a worker passes them on. Only the clock is the
 * test's.
 */
import { randomBytes } from 'node:crypto';
import { answerRegister } from '#control-plane/catalogue/phones/answer-register.ts';
import type { RegisterAnswer } from '#protocol/sip-register.ts';
import { answerChallenge, readChallenges } from '#telephony/digest-challenge.ts';
import type { TestUser } from '../../test-api.ts';
import type { TestCalls } from '../../test-calls.ts';

export const PHONES = '/v1/agent/sip-phones';
export const HOME = '203.0.113.9';

/** A phone with its password. */
export interface MadePhone {
  readonly sip_phone_id: string;
  readonly username: string;
  readonly password: string;
  readonly extension: string;
}

/** Creates a phone. */
export async function makePhone(
  api: TestCalls,
  user: TestUser,
  extension: string,
  more: Record<string, unknown> = {},
): Promise<MadePhone> {
  const { status, body, text } = await api.request('POST', PHONES, {
    key: user.key,
    body: { extension, ...more },
  });
  if (status !== 201) throw new Error(text);
  return body;
}

/** What a device sends. */
export interface SentRegister {
  readonly source?: string;
  readonly port?: number;
  readonly contact?: string;
  readonly callId?: string;
  readonly user?: string;
  readonly lines?: Readonly<Record<string, string>>;
}

/** A device that registers as softphones do: answers one challenge, and counts its requests. */
export class Device {
  readonly #api: TestCalls;
  readonly #account: { readonly username: string; readonly password: string };
  #cseq = 0;

  constructor(api: TestCalls, account: { readonly username: string; readonly password: string }) {
    this.#api = api;
    this.#account = account;
  }

  /** One request; with `authorization`, that is its answer to a challenge. */
  send(sent: SentRegister, authorization?: string): Promise<RegisterAnswer> {
    this.#cseq += 1;
    const { source = HOME, port = 5_062, user = this.#account.username } = sent;
    const headers = {
      to: `<sip:${user}@parley.example>`,
      'call-id': sent.callId ?? 'device-1',
      cseq: `${this.#cseq} REGISTER`,
      contact: sent.contact ?? `<sip:${user}@${source}:5062>;expires=600`,
      ...sent.lines,
      ...(authorization === undefined ? {} : { authorization }),
    };
    return answerRegister(this.#api.context, {
      uri: 'sip:parley.example',
      headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
      source_address: source,
      source_port: port,
      transport: 'udp',
      server: '127.0.0.1:9022',
    });
  }

  /** The answer to the first challenge in an answer. */
  authorization({ status, headers }: RegisterAnswer, uses = 1): string {
    const [challenge] = readChallenges({ status, headers });
    if (!challenge) throw new Error(`no challenge in ${status}`);
    const request = { method: 'REGISTER', uri: 'sip:parley.example' };
    return answerChallenge(challenge, request, this.#account, {
      cnonce: randomBytes(8).toString('hex'),
      uses,
    });
  }

  /** A request, and the same with the answer to its challenge. */
  async register(sent: SentRegister = {}): Promise<RegisterAnswer> {
    return this.send(sent, this.authorization(await this.send(sent)));
  }
}
