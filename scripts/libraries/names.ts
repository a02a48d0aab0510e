/** Names of the libraries' resources and methods, and of the types they use, from the routes of the API. */

/** A method of the libraries: `agents.publish`. */
export interface Place {
  readonly resource: string;
  readonly method: string;
}

/** Resources whose first path segment says less than it should. */
const RESOURCES: Readonly<Record<string, string>> = { admin: 'operator', model: 'voices' };

/** Path segments that are verbs. */
const ACTIONS = new Set([
  'cancel',
  'download',
  'end',
  'monitor',
  'pause',
  'publish',
  'replay',
  'resend',
  'resume',
  'test',
  'top-up',
]);

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'set',
  PATCH: 'update',
  DELETE: 'delete',
};

/** Routes whose names do not follow from their paths. */
const NAMES: Readonly<Record<string, string>> = {
  'DELETE /admin/speech-models/{model_id}/download': 'operator.stopSpeechModelDownload',
  'DELETE /v1/agent/agents/{agent_id}/tests/{test_id}': 'agents.detachTest',
  'DELETE /v1/agent/sessions/{session_id}/participants/{participant_id}': 'sessions.removeParticipant',
  'GET /admin/wallets/verify': 'operator.verifyWallets',
  'GET /v1/agent/available-phone-numbers': 'phoneNumbers.listAvailable',
  'GET /v1/agent/events': 'events.stream',
  'POST /admin/backup': 'operator.backup',
  'POST /admin/backup/session-keys': 'operator.exportSessionKeys',
  'POST /v1/agent/agent-suggestions': 'agents.suggest',
  'POST /v1/agent/agents/{agent_id}/tests/run': 'agents.runTests',
  'POST /v1/agent/sessions/{session_id}/analysis': 'sessions.analyzeAgain',
  'GET /v1/agent/sessions/{session_id}/call-chain': 'sessions.getCallChain',
  'POST /v1/agent/sessions/{session_id}/call-file': 'sessions.exportCall',
  'POST /v1/agent/sessions/{session_id}/participants': 'sessions.addParticipant',
  'POST /v1/agent/text-sessions/{text_session_id}/messages': 'textSessions.sendMessage',
  'POST /v1/asr': 'speech.transcribe',
  'POST /v1/tts': 'speech.synthesize',
  'POST /v1/tts/stream/with-timestamp': 'speech.synthesizeWithTimestamps',
  'PUT /v1/agent/agents/{agent_id}/tests/{test_id}': 'agents.attachTest',
};

/** The method for a route; `path` as in OpenAPI. `isList`: the answer is a list, paged or not. */
export function placeOf(verb: string, path: string, isList: boolean): Place {
  const [namedResource, namedMethod] = NAMES[`${verb} ${path}`]?.split('.') ?? [];
  if (namedResource !== undefined && namedMethod !== undefined)
    return { resource: namedResource, method: namedMethod };
  const [first = '', ...rest] = path
    .replace(/^\/v1\/(agent\/)?/, '/')
    .split('/')
    .filter(Boolean);
  const resource = camel([RESOURCES[first] ?? first]);
  const nouns = rest.filter((segment) => !isParameter(segment));
  const last = rest.at(-1) ?? '';
  if (ACTIONS.has(last)) return { resource, method: camel([last, ...nouns.slice(0, -1).map(singular)]) };
  const isOne = isParameter(last) || verb === 'POST';
  const named = nouns.map((noun, index) => (isOne || index < nouns.length - 1 ? singular(noun) : noun));
  return { resource, method: camel([isList ? 'list' : (VERBS[verb] ?? ''), ...named]) };
}

/** The type that a method is about: `AgentVersion` of `agents.listVersions`. */
export function subjectOf({ resource, method }: Place): string {
  const [, verb = '', noun = ''] = /^(list|get|create|update|set|delete)?(.*)$/.exec(method) ?? [];
  return entityOf(resource) + pascal(verb === 'list' ? singular(noun) : noun);
}

/** The type of one thing of a resource: `Agent` of `agents`. */
export function entityOf(resource: string): string {
  return pascal(singular(resource));
}

/** `phone-numbers` and `phone_numbers` become `phoneNumbers`. */
export function camel(words: readonly string[]): string {
  const text = words.map(pascal).join('');
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** `phone-numbers` becomes `PhoneNumbers`; capitals inside stay. */
export function pascal(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** `phoneNumbers` becomes `phone_numbers`. */
export function snake(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/^_/, '');
}

/** `deliveries` becomes `delivery`. */
export function singular(noun: string): string {
  if (/(?:ics|is|ss)$/.test(noun)) return noun;
  if (noun.endsWith('ies')) return `${noun.slice(0, -3)}y`;
  if (/(?:ch|sh|x)es$/.test(noun)) return noun.slice(0, -2);
  return noun.endsWith('s') ? noun.slice(0, -1) : noun;
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}
