/**
 * API clients that keep working while parts of the product are killed: they create sessions and agents, top
 * up and buy numbers, and record every acknowledged request.
 */
import type { ApiAnswer, Product } from './product.ts';

/** One top-up, dollars. */
export const TOP_UP = '1.25';
/** Statuses a client may get while a part is down; a missing answer is also accepted. */
const AWAY = [502, 503];
const CONFLICT = 409;
const NUMBERS = 3;

/** Settings of the clients. */
export interface ApiClientsOptions {
  readonly product: Product;
  readonly agentId: string;
  /** Keeps the top-up keys and numbers of this run distinct from those of other runs. */
  readonly run: number;
  readonly random: () => number;
}

/** The running clients. */
export class ApiClients {
  /** Sessions answered with 201. */
  readonly sessions: string[] = [];
  /** Names and ids of agents answered with 201; each is repeated with the same key until then. */
  readonly agents = new Map<string, string>();
  /** Ids of numbers answered with 201. */
  readonly numbers: string[] = [];
  /** All numbers that a client tried to buy. */
  readonly wantedNumbers: string[] = [];
  /** Top-ups answered with 200; each is retried with the same key until then. */
  topUps = 0;
  /** Unexpected answers. */
  readonly strangeAnswers: string[] = [];
  readonly #options: ApiClientsOptions;
  readonly #done: Promise<unknown>;
  #isStopping = false;

  constructor(options: ApiClientsOptions) {
    this.#options = options;
    this.#done = Promise.all([
      this.#createSessions(),
      this.#createAgents(),
      this.#topUp(),
      this.#buyNumbers(),
    ]);
  }

  /** Lets all clients finish their current request; top-ups and agents are repeated until acknowledged. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#done;
  }

  async #createSessions(): Promise<void> {
    while (!this.#isStopping) {
      const answer = await this.#ask('/v1/agent/sessions', { agent_id: this.#options.agentId });
      if (answer?.status === 201) this.sessions.push(answer.body.session_id);
      await this.#pause(150, 500);
    }
  }

  async #createAgents(): Promise<void> {
    for (let index = 0; !this.#isStopping; index++) {
      const name = `Agent ${index} of run ${this.#options.run}.`;
      const headers = { 'idempotency-key': name };
      for (let id: string | undefined; id === undefined; ) {
        const answer = await this.#ask('/v1/agent/agents', { name }, headers);
        if (answer?.status === 201) id = answer.body.agent_id as string;
        if (id !== undefined) this.agents.set(name, id);
        await this.#pause(100, 300);
      }
    }
  }

  async #topUp(): Promise<void> {
    for (let index = 0; !this.#isStopping; index++) {
      const body = { amount: TOP_UP, idempotency_key: `run-${this.#options.run}-${index}` };
      while ((await this.#ask('/admin/wallet/00000000000000000000000000000001/top-up', body))?.status !== 200)
        await this.#pause(100, 200);
      this.topUps += 1;
      await this.#pause(100, 400);
    }
  }

  async #buyNumbers(): Promise<void> {
    for (let index = 0; index < NUMBERS && !this.#isStopping; index++) {
      const phoneNumber = `+1555010${String(1_000 + this.#options.run * NUMBERS + index)}`;
      this.wantedNumbers.push(phoneNumber);
      const answer = await this.#ask('/v1/agent/phone-numbers', {
        provider: 'managed',
        phone_number: phoneNumber,
        agent_id: this.#options.agentId,
      });
      if (answer?.status === 201) this.numbers.push(answer.body.phone_number_id);
      await this.#pause(300, 1_200);
    }
  }

  /** Returns the answer, or null without one. An attempt with the same key may still count as running. */
  async #ask(path: string, body: unknown, headers?: Record<string, string>): Promise<ApiAnswer | null> {
    try {
      const answer = await this.#options.product.api('POST', path, body, headers);
      const isRunning = headers !== undefined && answer.status === CONFLICT;
      if (answer.status >= 300 && !AWAY.includes(answer.status) && !isRunning)
        this.strangeAnswers.push(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer;
    } catch {
      return null;
    }
  }

  #pause(fromMs: number, toMs: number): Promise<void> {
    return new Promise((done) => setTimeout(done, fromMs + this.#options.random() * (toMs - fromMs)));
  }
}
