/** What an application does with the TypeScript library, against a running API. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NotFoundError, Parley, verifyWebhook, type WebhookEvent } from '#libraries/typescript/src/index.ts';

/** What both libraries find out on their tours. */
export interface TourFindings {
  readonly version: number;
  readonly prompt: string;
  readonly names: readonly string[];
  readonly menu: string;
  readonly sample: string;
  readonly first_event: string;
  readonly webhook: string;
  readonly missing: { readonly status: number; readonly message: string; readonly has_request_id: boolean };
  readonly refused: string;
}

/** The API, a key for it, and its time in ms. */
export interface TourPlace {
  readonly url: string;
  readonly key: string;
  readonly now: () => number;
}

const SECRET = 'a long random string';

/** Creates, publishes, lists, deletes, uploads, listens, and receives a webhook. */
export async function tourInTypescript({ url, key, now }: TourPlace): Promise<TourFindings> {
  const parley = new Parley({ baseUrl: url, apiKey: key });
  const agent = await parley.agents.create({ name: 'Front desk' });
  await parley.agents.create({ name: 'Kitchen' });
  const bar = await parley.agents.create({ name: 'Bar' });
  const config = await parley.agents.updateConfig(agent.agent_id, { prompt: { system_prompt: 'Be brief.' } });
  const { version_number } = await parley.agents.publish(agent.agent_id);
  const names: string[] = [];
  for await (const { name } of parley.agents.list({ page_size: 2 })) names.push(name);
  await parley.agents.delete(bar.agent_id);
  const menu = await parley.knowledgeSources.create({ source: new File(['# Menu'], 'menu.md') });
  const voice = await parley.voices.create({
    type: 'tts',
    title: 'Alto',
    train_mode: 'fast',
    visibility: 'private',
    voices: [Buffer.from('RIFF1234')],
    texts: ['Hello!'],
  });
  const sample = await parley.voices.getSample(voice._id, 0);
  return {
    version: version_number,
    prompt: config.prompt.system_prompt,
    names: names.sort(),
    menu: menu.content,
    sample: await sample.text(),
    first_event: await firstEvent(parley),
    webhook: (await receivedWebhook(parley, agent.agent_id, now)).event,
    missing: await missing(parley, bar.agent_id),
    refused: await refused(parley, agent.agent_id),
  };
}

async function firstEvent(parley: Parley): Promise<string> {
  for await (const { event } of parley.events.stream()) return event;
  return '';
}

async function receivedWebhook(parley: Parley, agentId: string, now: () => number): Promise<WebhookEvent> {
  let received: WebhookEvent | undefined;
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const signature = String(request.headers['x-service-webhook-signature']);
    received = verifyWebhook({ body, signature }, SECRET, { now });
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await parley.agents.testWebhook(agentId, { url: `http://127.0.0.1:${port}/`, secret: SECRET });
  server.close();
  if (!received) throw new Error('no webhook arrived');
  return received;
}

async function missing(parley: Parley, agentId: string): Promise<TourFindings['missing']> {
  try {
    await parley.agents.get(agentId);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    return { status: error.status, message: error.message, has_request_id: error.requestId !== null };
  }
  throw new Error('the agent is still there');
}

/** The reason for which a call is refused. */
async function refused(parley: Parley, agentId: string): Promise<string> {
  const call = { agent_id: agentId, phone_number_id: 'nowhere', to_number: '+12125550123' };
  const error: unknown = await parley.phoneCalls.create(call).catch((caught: unknown) => caught);
  return error instanceof NotFoundError ? String(error.reason) : String(error);
}
