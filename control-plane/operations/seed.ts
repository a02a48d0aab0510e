/**
 * Initial data of a deployment: the operator's account, a published public demo agent, and a test number that
 * it answers. Every start repeats it and keeps what exists.
 */
import { DEMO_KEYTERMS } from '#config/demo-phrases.ts';
import { DEMO_NUMBER } from '#telephony/carriers/test-catalogue.ts';
import { postStartingCredit } from '../accounts/keys/accounts.ts';
import { patchDraft } from '../catalogue/agents/agent-store.ts';
import { createAgent, platformDefaults } from '../catalogue/agents/create-agent.ts';
import { publishAgent } from '../catalogue/agents/publish.ts';
import { newNumber } from '../catalogue/numbers/new-number.ts';
import { type Context, now } from '../platform/context.ts';
import { hashKey } from '../platform/http/auth.ts';
import { isDuplicateKey } from '../platform/store/duplicate-key.ts';
import type { AgentDocument } from '../platform/store/models/agent-model.ts';

/** Fixed ids, so that later starts and other replicas find them. */
const ROOT = { userId: fixedId(1), teamId: fixedId(2), workspaceId: fixedId(3), keyId: fixedId(4) };
/** The demo agent, in every deployment. */
export const DEMO_AGENT_ID = fixedId(5);
const DEMO_NUMBER_ID = fixedId(6);

/** Facts for the start message. */
export interface DemoFacts {
  readonly demoAgentId: string;
  /** Null if the number was released or bound elsewhere. */
  readonly demoNumber: string | null;
}

/** Ensures the operator's account, wallet and key; called before anything is served. */
export async function seedOperator(context: Context): Promise<void> {
  const at = now(context);
  await createUnlessPresent(() =>
    context.models.users.create({
      _id: ROOT.userId,
      name: 'Operator',
      team_id: ROOT.teamId,
      workspace_id: ROOT.workspaceId,
      is_root: true,
      beta_access: true,
      phone_number_limit: 1_000,
      outbound_enabled: true,
      created_at: at,
    }),
  );
  await postStartingCredit(context, ROOT.userId, context.settings.STARTING_CREDIT);
  const key = {
    user_id: ROOT.userId,
    name: 'Operator key',
    hash: hashKey(context.credentials.rootApiKey),
    is_root: true,
    expires_at: null,
  };
  await createUnlessPresent(() => context.models.keys.create({ _id: ROOT.keyId, ...key, created_at: at }));
  // The key in the settings may have changed since the last start.
  await context.models.keys.updateOne(
    { _id: ROOT.keyId, hash: { $ne: key.hash } },
    { $set: { hash: key.hash } },
  );
}

/** Ensures the demo agent and its number; called once the server knows its own address. */
export async function seedDemo(context: Context): Promise<DemoFacts> {
  await seedDemoAgent(context);
  return { demoAgentId: DEMO_AGENT_ID, demoNumber: await seedDemoNumber(context) };
}

async function seedDemoAgent(context: Context): Promise<void> {
  await createUnlessPresent(() =>
    createAgent(context, {
      id: DEMO_AGENT_ID,
      owner: ROOT,
      name: 'Parley demo',
      description:
        'A rule-based demonstration agent: it recognises a few dozen fixed phrases about a restaurant and ' +
        'answers them. No language model is involved unless one is configured.',
      config: {
        prompt: { system_prompt: DEMO_PROMPT, first_message_mode: 'fixed', first_message: DEMO_GREETING },
        asr: { keyterms: [...DEMO_KEYTERMS] },
        conversation: { keypad_input: { enabled: true } },
        tools: { system_tools: { hang_up_call: true } },
      },
    }),
  );
  const agent = await context.models.agents
    .findOneAndUpdate(
      { _id: DEMO_AGENT_ID },
      { $set: { public_enabled: true, allowed_origins: ownOrigins(context.publicAddress.url) } },
      { returnDocument: 'after' },
    )
    .lean<AgentDocument>();
  if (!agent) return;
  const { llm, asr } = context.platform;
  // The server of a local model may start after this one.
  const models = [...llm, ...context.localModels.known()];
  const isOffered =
    models.some((model) => model.id === agent.config.llm.model) &&
    asr.some((model) => model.id === agent.config.asr.model);
  const defaults = platformDefaults(context.platform);
  // A model whose vendor key was removed cannot answer.
  if (!isOffered)
    await patchDraft(context, agent.team_id, agent._id, {
      llm: { model: defaults.llmModel },
      asr: { model: defaults.asrModel },
    });
  if (!isOffered || agent.published === 0)
    await publishAgent(context, agent.team_id, agent._id, { title: null, description: null });
}

async function seedDemoNumber(context: Context): Promise<string | null> {
  const number = newNumber(
    {
      _id: DEMO_NUMBER_ID,
      team_id: ROOT.teamId,
      workspace_id: ROOT.workspaceId,
      user_id: ROOT.userId,
      phone_number: DEMO_NUMBER,
      provider: 'managed',
      label: 'Demo',
      agent_id: DEMO_AGENT_ID,
      status: 'active',
      sip: null,
      is_proven: true,
    },
    now(context),
  );
  await createUnlessPresent(() => context.models.numbers.create(number));
  return findDemoNumber(context);
}

/** The seeded number, if the demo agent still answers it. */
export async function findDemoNumber(context: Context): Promise<string | null> {
  const number = await context.models.numbers
    .findOne({ _id: DEMO_NUMBER_ID, status: 'active', agent_id: DEMO_AGENT_ID })
    .lean();
  return number?.phone_number ?? null;
}

/** The program's own pages; a loopback address is also reachable as localhost. */
function ownOrigins(publicUrl: string): string[] {
  const url = new URL(publicUrl);
  const origins = [url.origin];
  if (url.hostname === '127.0.0.1' || url.hostname === 'localhost') {
    url.hostname = url.hostname === 'localhost' ? '127.0.0.1' : 'localhost';
    origins.push(url.origin);
  }
  return origins;
}

async function createUnlessPresent(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

function fixedId(number: number): string {
  return number.toString(16).padStart(32, '0');
}

const DEMO_GREETING =
  'Hello, this is the Parley demo. I am a simple rule-based agent. You can ask for our opening hours, ' +
  'book a table, or ask what I can do.';

const DEMO_PROMPT = [
  'You are the demonstration agent of Parley, a voice agent platform, and play the host of a small ' +
    'restaurant on the phone.',
  'You can tell the opening hours (every day from five to eleven in the evening), take a table booking ' +
    '(party size, day and hour) and say what you can do.',
  'Keep every answer to one or two short spoken sentences. When you are asked what you are, say honestly ' +
    'that you are a demonstration.',
  'When the caller says goodbye, end the call.',
].join('\n');
