/**
 * Validation of a configuration beyond its schema: rules across fields and checks that need lookups. Problem
 * texts never repeat the input.
 */

import type { AgentConfig } from '#config/agent-config.ts';
import type { AgentConfigPatch } from '#config/agent-config-patch.ts';
import { fault } from '#config/errors.ts';
import { isLocal, isModelAllowed } from '#config/language-models.ts';
import { LIMITS } from '#config/limits.ts';
import type { OfferedModel } from '#config/platform-models.ts';
import { systemPromptProblem } from '#config/prompt-tokens.ts';
import { isTimezone } from '#config/timezones.ts';
import { placeholderProblem } from '#protocol/placeholders.ts';
import { countryOf, isE164 } from '#telephony/e164.ts';
import { readSipUri } from '#telephony/sip-address.ts';
import type { Context } from '../../platform/context.ts';
import { InvalidRequest, invalidField } from '../../platform/http/problems.ts';
import { tenantHostProblem } from '../numbers/sip-config.ts';
import { isExtension } from '../phones/extensions.ts';
import { customSpeechProblems } from './custom-speech-rules.ts';
import { type DraftChange, type Problem, urlProblems } from './draft-problem.ts';
import { attachable } from './references.ts';

/** Throws `InvalidRequest` with all problems of a changed draft, or `duplicate_client_tool`. */
export async function checkDraft(context: Context, change: DraftChange): Promise<void> {
  const newModel = newModelOf(change);
  if (newModel !== null) await searchForLocal(context, newModel);
  const problems = [
    ...textProblems(change.after),
    ...conversationProblems(context, change),
    ...analysisProblems(change.after.analysis),
    ...(newModel === null ? [] : languageModelProblems(context, newModel)),
    ...speechModelProblems(context, change),
    ...customModelProblems(change),
    ...(await promptProblems(change.patch)),
    ...(await endpointProblems(context, change)),
    ...(await customSpeechProblems(context, change)),
    ...(await referenceProblems(context, change)),
  ];
  if (problems.length > 0)
    throw new InvalidRequest(problems.flatMap(({ loc, text }) => invalidField(loc, text).entries));
  if (change.patch.tools?.tool_ids) await refuseDuplicateClientTools(context, change);
}

function textProblems(config: AgentConfig): Problem[] {
  const { prompt, conversation, tools } = config;
  const texts: [Problem['loc'], string][] = [
    [['prompt', 'system_prompt'], prompt.system_prompt],
    [['prompt', 'first_message'], prompt.first_message],
    [['prompt', 'first_message_prompt'], prompt.first_message_prompt],
    [['conversation', 'outbound', 'voicemail', 'message'], conversation.outbound.voicemail.message],
    [['conversation', 'keypad_menu', 'prompt'], conversation.keypad_menu.prompt],
    [['conversation', 'keypad_menu', 'retry_message'], conversation.keypad_menu.retry_message],
    [
      ['tools', 'system_tools', 'hang_up_call_farewell_message'],
      tools.system_tools.hang_up_call_farewell_message,
    ],
    ...conversation.transfer_destinations.flatMap((destination, index): [Problem['loc'], string][] => [
      [
        ['conversation', 'transfer_destinations', index, 'announcement_message'],
        destination.announcement_message,
      ],
      [
        ['conversation', 'transfer_destinations', index, 'warm_briefing_instructions'],
        destination.warm_briefing_instructions,
      ],
    ]),
  ];
  return texts.flatMap(([loc, text]) => problemIf(loc, placeholderProblem(text)));
}

function conversationProblems(context: Context, { patch, after }: DraftChange): Problem[] {
  const { timezone, keypad_menu: menu, transfer_destinations: destinations } = after.conversation;
  const problems: Problem[] = [];
  if (timezone !== '' && !isTimezone(timezone))
    problems.push({ loc: ['conversation', 'timezone'], text: 'must be an IANA time zone' });
  if (menu.enabled && menu.options.length === 0)
    problems.push({
      loc: ['conversation', 'keypad_menu', 'options'],
      text: 'an enabled keypad menu needs 1 to 12 options',
    });
  if (!patch.conversation?.transfer_destinations) return problems;
  const labels = destinations.map((destination) => destination.label.trim().toLowerCase());
  for (const [index, destination] of destinations.entries()) {
    const loc = ['conversation', 'transfer_destinations', index];
    if (destinations.length > 1 && labels[index] === '')
      problems.push({ loc: [...loc, 'label'], text: 'is required when there are several destinations' });
    else if (labels.indexOf(labels[index] ?? '') !== index)
      problems.push({ loc: [...loc, 'label'], text: 'labels must be unique' });
    problems.push(...addressProblems(context, destination, loc));
  }
  return problems;
}

function addressProblems(
  context: Context,
  destination: AgentConfig['conversation']['transfer_destinations'][number],
  loc: Problem['loc'],
): Problem[] {
  if (destination.type === 'sip') {
    return /^sips?:[^\s@;?]+(@[^\s@;?]+)?$/i.test(destination.sip_uri) && readSipUri(destination.sip_uri)
      ? []
      : [{ loc: [...loc, 'sip_uri'], text: 'must be a SIP URI such as sip:desk@example.com' }];
  }
  if (destination.type === 'sip_phone') {
    return isExtension(destination.phone_extension ?? '')
      ? []
      : [{ loc: [...loc, 'phone_extension'], text: 'must be the extension of a phone: 2 to 6 digits' }];
  }
  if (!isE164(destination.phone_number))
    return [{ loc: [...loc, 'phone_number'], text: 'must be an E.164 number such as +14155550123' }];
  const allowed = context.settings.OUTBOUND_COUNTRIES;
  return allowed.includes(countryOf(destination.phone_number) ?? '')
    ? []
    : [{ loc: [...loc, 'phone_number'], text: `the country must be one of ${allowed.join(', ')}` }];
}

function analysisProblems(analysis: AgentConfig['analysis']): Problem[] {
  const problems: Problem[] = [];
  const unique = (list: 'data_fields' | 'criteria') => {
    if (new Set(analysis[list].map((entry) => entry.name)).size < analysis[list].length)
      problems.push({ loc: ['analysis', list], text: 'names must be unique' });
  };
  unique('data_fields');
  unique('criteria');
  for (const [index, field] of analysis.data_fields.entries()) {
    const loc = ['analysis', 'data_fields', index, 'enum_options'];
    const count = field.enum_options?.length ?? 0;
    if (field.type === 'enum' && count < 2)
      problems.push({ loc, text: 'an enum field needs 2 to 20 options' });
    if (field.type !== 'enum' && count > 0) problems.push({ loc, text: 'only an enum field has options' });
  }
  return problems;
}

/** The language model that the patch sets; null if it keeps the draft's. */
function newModelOf({ patch, before }: DraftChange): string | null {
  const id = patch.llm?.model;
  return id === undefined || id === before.llm.model ? null : id;
}

/** A local model may have been installed since the last search. */
async function searchForLocal({ platform, localModels, settings }: Context, id: string): Promise<void> {
  if (!isLocal(id) || !isModelAllowed(settings.LLM_ALLOWED, id)) return;
  if (!platform.llm.some((model) => model.id === id)) await localModels.searchAnew();
}

function languageModelProblems({ platform, settings }: Context, id: string): Problem[] {
  return isOffered(platform.llm, '/', id) && isModelAllowed(settings.LLM_ALLOWED, id)
    ? []
    : [{ loc: ['llm', 'model'], text: 'is not offered here; see GET /v1/agent/models' }];
}

function speechModelProblems({ platform }: Context, { patch, before }: DraftChange): Problem[] {
  const id = patch.asr?.model;
  return id === undefined || id === before.asr.model || isOffered(platform.asr, ':', id)
    ? []
    : [{ loc: ['asr', 'model'], text: 'is not offered here; see GET /v1/agent/models' }];
}

function isOffered(list: readonly OfferedModel[], separator: string, id: string): boolean {
  // A configured vendor may serve models that are not in the list.
  const vendors = new Set(
    list.map((model) => model.id.split(separator)[0]).filter((vendor) => vendor !== 'local'),
  );
  const [vendor, ...rest] = id.split(separator);
  return list.some((model) => model.id === id) || (vendors.has(vendor) && rest.join(separator) !== '');
}

function customModelProblems({ patch, before, after }: DraftChange): Problem[] {
  const sent = patch.llm?.custom;
  if (!sent || !after.llm.custom) return [];
  const problems: Problem[] = [];
  // Restoring a snapshot sets both fields, which is fine; a user who sets both means only one of them.
  if (patch.llm?.model !== undefined && sent.has_secret === undefined)
    problems.push({ loc: ['llm'], text: 'model and custom exclude each other' });
  if (after.llm.custom.base_url === '')
    problems.push({ loc: ['llm', 'custom', 'base_url'], text: 'is required' });
  if (after.llm.custom.model === '') problems.push({ loc: ['llm', 'custom', 'model'], text: 'is required' });
  if (!before.llm.custom && !sent.api_key && sent.has_secret === undefined)
    problems.push({ loc: ['llm', 'custom', 'api_key'], text: 'is required' });
  return problems;
}

async function promptProblems(patch: AgentConfigPatch): Promise<Problem[]> {
  const text = patch.prompt?.system_prompt;
  return text === undefined ? [] : problemIf(['prompt', 'system_prompt'], await systemPromptProblem(text));
}

async function endpointProblems(context: Context, { patch, after }: DraftChange): Promise<Problem[]> {
  const checks: Promise<Problem[]>[] = [];
  if (patch.webhooks?.post_call) {
    checks.push(
      ...after.webhooks.post_call.map((entry, index) =>
        urlProblems(context, entry.url, ['webhooks', 'post_call', index, 'url']),
      ),
    );
  }
  if (patch.webhooks?.conversation_init) {
    checks.push(
      urlProblems(context, after.webhooks.conversation_init?.url ?? '', [
        'webhooks',
        'conversation_init',
        'url',
      ]),
    );
  }
  if (patch.conversation?.transfer_destinations) {
    checks.push(
      ...after.conversation.transfer_destinations.map((destination, index) =>
        sipHostProblems(context, destination, index),
      ),
    );
  }
  const recording = patch.automated_lines?.voicemail_recording_url ?? '';
  if (recording !== '')
    checks.push(urlProblems(context, recording, ['automated_lines', 'voicemail_recording_url']));
  const baseUrl = after.llm.custom?.base_url ?? '';
  if (patch.llm?.custom && baseUrl !== '') checks.push(baseUrlProblems(context, baseUrl));
  return (await Promise.all(checks)).flat();
}

/** The SIP address of a transfer destination must not point to the operator's trunk or network. */
async function sipHostProblems(
  context: Context,
  { type, sip_uri: uri }: AgentConfig['conversation']['transfer_destinations'][number],
  index: number,
): Promise<Problem[]> {
  // Malformed SIP addresses are reported elsewhere.
  const problem = type === 'sip' && readSipUri(uri) ? await tenantHostProblem(context, uri) : null;
  return problemIf(['conversation', 'transfer_destinations', index, 'sip_uri'], problem);
}

async function baseUrlProblems(context: Context, baseUrl: string): Promise<Problem[]> {
  const loc = ['llm', 'custom', 'base_url'];
  const problems = await urlProblems(context, baseUrl, loc);
  if (problems.length > 0) return problems;
  const url = new URL(baseUrl);
  if (url.search !== '' || url.hash !== '') return [{ loc, text: 'must have no query and no fragment' }];
  return url.protocol === 'https:' || (await context.egress.allowsPlainHttp(baseUrl))
    ? []
    : [{ loc, text: 'must be https' }];
}

async function referenceProblems(context: Context, { teamId, patch }: DraftChange): Promise<Problem[]> {
  const problems: Problem[] = [];
  const { tool_ids: toolIds = [] } = patch.tools ?? {};
  const { knowledge_source_ids: sourceIds = [] } = patch.knowledge_base ?? {};
  const serverIds = patch.tool_servers?.tool_server_ids ?? [];
  const [tools, sources, servers] = await Promise.all([
    attachable(context, 'tools', teamId, toolIds),
    attachable(context, 'knowledge', teamId, sourceIds),
    attachable(context, 'toolServers', teamId, serverIds),
  ]);
  problems.push(
    ...unknownEntries(['tools', 'tool_ids'], toolIds, tools, 'unknown tool'),
    ...unknownEntries(['tool_servers', 'tool_server_ids'], serverIds, servers, 'unknown tool server'),
    ...unknownEntries(
      ['knowledge_base', 'knowledge_source_ids'],
      sourceIds,
      sources,
      'unknown knowledge source',
    ),
  );
  const defaults = patch.variables?.defaults;
  if (
    defaults &&
    (Object.keys(defaults).length > LIMITS.variableEntries ||
      Buffer.byteLength(JSON.stringify(defaults)) > LIMITS.variableBytes)
  )
    problems.push({
      loc: ['variables', 'defaults'],
      text: `at most ${LIMITS.variableEntries} entries and ${LIMITS.variableBytes} bytes`,
    });
  return problems;
}

function unknownEntries(
  loc: readonly string[],
  ids: readonly string[],
  known: ReadonlySet<string>,
  text: string,
): Problem[] {
  return ids.flatMap((id, index) => {
    if (!known.has(id)) return [{ loc: [...loc, index], text }];
    return ids.indexOf(id) === index ? [] : [{ loc: [...loc, index], text: 'is listed twice' }];
  });
}

async function refuseDuplicateClientTools(context: Context, { teamId, after }: DraftChange): Promise<void> {
  const tools = await context.models.tools
    .find({ team_id: teamId, _id: { $in: after.tools.tool_ids }, tool_type: 'client' }, { name: 1 })
    .lean();
  const names = tools.map((tool) => tool.name);
  const twin = names.find((name, index) => names.indexOf(name) !== index);
  if (twin !== undefined) throw fault('duplicate_client_tool', { name: twin });
}

function problemIf(loc: Problem['loc'], text: string | null): Problem[] {
  return text === null ? [] : [{ loc, text }];
}
