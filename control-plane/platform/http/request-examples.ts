/** One example of every request body in the API, by method and route; a test sends each of them. */
import { EXAMPLE_IDS } from './example-of.ts';

const PUBLISHED_TITLE = { version_title: 'Evening menu', version_description: 'Tells today’s specials' };
const SIMULATION = {
  scenario: 'You want a table for two tonight.',
  success_conditions: [{ name: 'booked', description: 'A table was reserved for two people.' }],
};
const SIP_TRUNK = {
  inbound_allowed_addresses: ['203.0.113.0/28'],
  termination_uri: 'trunk.example.com:5060',
  termination_auth_username: 'luigi',
  termination_auth_password: 'correct horse',
};

/** Examples by `METHOD /path`, with the path as in the route definition. */
export const REQUEST_EXAMPLES: Readonly<Record<string, object>> = {
  'POST /v1/agent/agents': {
    name: 'Front desk',
    description: 'Answers the phone of the restaurant',
    config: {
      prompt: { system_prompt: 'You take table reservations for Luigi’s. Today is {{system.today}}.' },
    },
  },
  'PATCH /v1/agent/agents/:agent_id': {
    public_enabled: true,
    allowed_origins: ['https://luigis.example.com'],
    overrides_allowed: ['language'],
  },
  'PATCH /v1/agent/agents/:agent_id/config': {
    prompt: { first_message_mode: 'fixed', first_message: 'Luigi’s, good evening!' },
    conversation: {
      timezone: 'America/Los_Angeles',
      transfer_destinations: [{ label: 'Kitchen', phone_number: '+14155550123' }],
    },
    webhooks: { post_call: [{ url: 'https://crm.example.com/hooks/calls', secret: 'a signing key' }] },
    analysis: { data_fields: [{ name: 'guests', type: 'number', description: 'How many people come' }] },
  },
  'POST /v1/agent/agents/:agent_id/publish': PUBLISHED_TITLE,
  'PUT /v1/agent/agents/:agent_id/limits': { concurrent_calls: 10, daily_cap: '25.00' },
  'PUT /v1/agent/agents/:agent_id/share': { share: 0.1 },
  'PUT /v1/agent/agents/:agent_id/learning': { cut_off_bound: 5, wait_max_ms: 2_000 },
  'POST /v1/agent/agents/:agent_id/preview-sessions': { dynamic_variables: { guest: 'Ada' } },
  'POST /v1/agent/agents/:agent_id/test-calls': { version: 'published' },
  'POST /v1/agent/agents/:agent_id/test-calls/:session_id/moves': {
    persona: 'In a hurry; says little',
    goal: 'A table for four tomorrow at eight',
    turns: [{ role: 'agent', text: 'Luigi’s, good evening!' }],
  },
  'POST /v1/agent/agents/:agent_id/test-calls/:session_id/verdicts': {
    conditions: [{ name: 'booked', condition: 'The caller has a table for four at eight' }],
  },
  'POST /v1/agent/agent-suggestions': {
    description: 'Takes bookings for a hairdressing salon and answers questions about prices',
  },
  'POST /v1/agent/agents/:agent_id/webhooks/test': { url: 'https://example.com/parley' },
  'POST /v1/agent/tools': {
    name: 'Find a table',
    description: 'Looks up free tables for a number of guests',
    arguments: [{ name: 'guests', description: 'How many people come' }],
    method: 'POST',
    url: 'https://tables.example.com/find',
    body_template: '{"guests": {{guests}}, "caller": "{{system.caller_number}}"}',
    headers: [{ name: 'Authorization', kind: 'authorization_bearer', value: 'Bearer a-key' }],
  },
  'PATCH /v1/agent/tools/:tool_id': { timeout_seconds: 10, error_handling: 'hide' },
  'POST /v1/agent/tools/:tool_id/test': { arguments: { guests: '2' } },
  'POST /v1/agent/tool-servers': {
    name: 'Calendar',
    url: 'https://calendar.example.com/mcp',
    headers: [
      { name: 'Authorization', kind: 'authorization_bearer', value: 'Bearer a-key' },
      { name: 'X-Caller', value: '{{system.caller_number}}' },
    ],
    allowed_tools: ['find_slot', 'book_slot'],
    timeout_seconds: 10,
  },
  'PATCH /v1/agent/tool-servers/:tool_server_id': { background_tools: ['book_slot'] },
  'POST /v1/agent/sip-registrations': {
    registrar: 'pbx.example.com',
    username: '204',
    password: 'correct horse',
    label: 'Front desk',
  },
  'POST /v1/agent/sip-phones': { extension: '204', display_name: 'Front desk' },
  'PATCH /v1/agent/sip-phones/:sip_phone_id': { display_name: 'Back office' },
  'PATCH /v1/agent/sip-registrations/:sip_registration_id': { expires_seconds: 300 },
  'POST /v1/agent/tests': {
    name: 'Books a table',
    test_type: 'simulation',
    agent_ids: [EXAMPLE_IDS.agent_id],
    simulation: SIMULATION,
  },
  'PATCH /v1/agent/tests/:test_id': { name: 'Books a table for two' },
  'POST /v1/agent/agents/:agent_id/tests/run': { test_ids: [EXAMPLE_IDS.test_id], repeat_count: 3 },
  'POST /v1/agent/phone-numbers': {
    provider: 'managed',
    phone_number: '+15550100042',
    label: 'Reservations',
    agent_id: EXAMPLE_IDS.agent_id,
  },
  'PATCH /v1/agent/phone-numbers/:phone_number_id': {
    agent_id: EXAMPLE_IDS.agent_id,
    transfer_caller_id: 'original_caller',
  },
  'POST /v1/agent/phone-numbers/connect-stream': {
    vendor: 'plivo',
    auth_id: 'MA0123456789ABCDEF01',
    auth_token: 'the token of the account',
    phone_number: '+14155550124',
    agent_id: EXAMPLE_IDS.agent_id,
  },
  'POST /v1/agent/phone-numbers/connect-twilio': {
    account_sid: `AC${'0123456789abcdef'.repeat(2)}`,
    auth_token: 'the token of the account',
    phone_number: '+14155550123',
    agent_id: EXAMPLE_IDS.agent_id,
  },
  'PUT /v1/agent/phone-numbers/:phone_number_id/sip-config': SIP_TRUNK,
  'POST /v1/agent/sessions': {
    agent_id: EXAMPLE_IDS.agent_id,
    end_user_id: 'guest-17',
    metadata: { table: 4 },
    dynamic_variables: { guest: 'Ada' },
    timezone: 'America/Los_Angeles',
  },
  'POST /v1/agent/text-sessions': {
    agent_id: EXAMPLE_IDS.agent_id,
    end_user_id: 'guest-17',
    dynamic_variables: { guest: 'Ada' },
  },
  'POST /v1/agent/text-sessions/:text_session_id/messages': { content: 'Do you have a table for tonight?' },
  'POST /v1/agent/sessions/:session_id/webrtc': {
    type: 'offer',
    sdp: 'v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n',
  },
  'POST /v1/agent/sessions/:session_id/participants': { name: 'Ada', mode: 'listen' },
  'PATCH /v1/agent/sessions/:session_id/participants/:participant_id': { mode: 'take_over' },
  'POST /v1/agent/sessions/:session_id/participants/:participant_id/webrtc': {
    type: 'offer',
    sdp: 'v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n',
  },
  'POST /v1/agent/agents/:agent_id/rehearsals': { calls: 1_000, days: 30 },
  'POST /v1/agent/agents/:agent_id/rehearsals/estimate': { days: 30, judge: { max_cost: '1.00' } },
  'POST /v1/agent/sessions/:session_id/replay': {
    conversation: { eagerness: 'eager', response_wait_ms: 400 },
  },
  'POST /v1/agent/phone-calls': {
    agent_id: EXAMPLE_IDS.agent_id,
    phone_number_id: EXAMPLE_IDS.phone_number_id,
    to_number: '+14155550123',
    dynamic_variables: { guest: 'Ada' },
  },
  'POST /v1/agent/batch-calls': {
    agent_id: EXAMPLE_IDS.agent_id,
    phone_number_id: EXAMPLE_IDS.phone_number_id,
    name: 'Tables of tonight',
    recipients: [{ to_number: '+14155550123', dynamic_variables: { guest: 'Ada' }, end_user_id: 'guest-17' }],
    schedule: { calling_hours: { start: '10:00', end: '18:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] } },
    retry: { on: ['busy', 'no_answer'], max_attempts: 2 },
    disclosure: 'This is an automated call from Luigi’s.',
    opt_out: { key: '9', phrases: ['stop calling'], confirmation: 'We will not call again. Goodbye.' },
  },
  'POST /v1/agent/do-not-call': { phone_number: '+14155550123', note: 'Asked by letter' },
  'PUT /v1/agent/phone-numbers/:phone_number_id/limits': { concurrent_calls: 10, calls_per_minute: 60 },
  'POST /v1/agent/knowledge-sources': { source: '# Menu\n\nToday: risotto.', name: 'Menu' },
  'PATCH /v1/agent/knowledge-sources/:source_id': { description: 'Changes every evening' },
  'PATCH /v1/agent/privacy': { recordings_days: 30 },
  'POST /v1/agent/erasures': { end_user_id: 'guest-17' },
  'POST /v1/tts': { text: 'Your table is ready.', format: 'mp3' },
  'POST /v1/tts/stream/with-timestamp': { text: 'Your table is ready.', format: 'wav' },
  'POST /v1/asr': {
    audio: '(the bytes of a WAV, MP3, FLAC, Ogg or WebM file)',
    language: 'en',
    ignore_timestamps: 'false',
  },
  'POST /model': {
    type: 'tts',
    title: 'Warm alto',
    train_mode: 'fast',
    visibility: 'private',
    voices: '(the bytes of a sample)',
    texts: 'Hello!',
  },
  'PATCH /model/:id': { title: 'Warm alto', visibility: 'private' },
  'POST /v1/agent/sessions/:session_id/call-file': { redact: ['caller_audio', 'numbers'] },
  'POST /v1/keys': { name: 'Website', expires_at: null },
  'POST /admin/users': { name: 'Luigi', credit: '10.00', beta_access: true, phone_number_limit: 5 },
  'PATCH /admin/users/:user_id': { phone_number_limit: 10 },
  'PUT /admin/numbers/:phone_number_id/proof': { is_proven: true },
  'POST /admin/keys': { user_id: EXAMPLE_IDS.user_id, name: 'Website' },
  'POST /admin/wallet/:user_id/top-up': { amount: '5.00', idempotency_key: 'invoice-2026-03' },
};
