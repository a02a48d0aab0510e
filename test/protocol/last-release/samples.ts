/**
 * One frame of each kind for the worker link, as the last release writes it: its own schemas complete and
 * check them when `write-fixtures.ts` writes the fixtures.
 */
const AT = '2026-11-23T10:00:00.000Z';
const SESSION = { session_id: 'f3b1c0de00000000000000000000000a', epoch: 2 };
const SDP =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';

const DIALOG = {
  sip_call_id: 'a84b4c76e66710@192.0.2.1',
  local_tag: 'ours',
  remote_tag: 'theirs',
  local_party: '<sip:+15550100000@192.0.2.2>;tag=ours',
  remote_party: '<sip:+15550100077@192.0.2.1>;tag=theirs',
  route_set: ['<sip:192.0.2.3;lr>'],
  local_cseq: 0,
  remote_target: 'sip:+15550100077@192.0.2.1:5060',
  local_contact: 'sip:192.0.2.2:5060',
  local_sdp: SDP,
  remote_sdp: SDP,
};
const TURN = { turn_id: 1, created_at: AT };
const TOOL = { call_id: 'c1', tool_name: 'book', tool_source: 'webhook' };
const ITEMS = [
  { type: 'message', role: 'user', content: 'What are your opening hours?', id: 'm1', ...TURN },
  { type: 'tool_call', ...TOOL, input: '{"day":"Friday"}', ...TURN },
  {
    type: 'tool_result',
    ...TOOL,
    status: 'completed',
    output: '{"ok":true}',
    output_truncated: false,
    error: null,
    latency_ms: 120,
    ...TURN,
  },
  {
    type: 'knowledge_retrieval',
    query: 'opening hours',
    status: 'completed',
    latency_ms: 3,
    citations: [{ knowledge_source_id: 'k1', name: 'Hours', chunk: 0 }],
    ...TURN,
  },
  { type: 'llm.endpoint_error', message: 'refused', status: 500, ...TURN },
  { type: 'participant', participant_id: 'p1', name: 'Ann', event: 'joined', turn_id: null, created_at: AT },
];
const MOMENT = { anchor_at: AT, deadline_at: AT };

/** What a worker reports of a session. */
const REPORTS: readonly object[] = [
  { type: 'joined', at: AT },
  { type: 'dialog', ...DIALOG },
  { type: 'person', person: { dialog: DIALOG, is_joined: true } },
  { type: 'dial', dial_status: 'answered', at: AT, sip_call_id: DIALOG.sip_call_id },
  { type: 'items', items: ITEMS },
  { type: 'opt_out', by: 'voice' },
  {
    type: 'turn',
    latency: {
      turn_id: 1,
      speech_ended_at: AT,
      endpoint_ms: 300,
      transcript_ms: 20,
      first_token_ms: 200,
      first_sentence_ms: 60,
      first_audio_ms: 90,
      playout_ms: 10,
      total_ms: 680,
      endpoint_rule: 'complete',
      speculative: false,
    },
  },
  {
    type: 'silence',
    silence: {
      turn_id: 1,
      started_at: AT,
      duration_ms: 900,
      ended_by: 'agent',
      causes: [{ cause: 'model', rule: null, ms: 900 }],
      decisions: [
        {
          about: 'endpoint',
          rule: 'complete',
          ...MOMENT,
          decided_at: AT,
          rejected: [{ rule: 'half_number', deadline_at: AT, because: 'no number' }],
        },
      ],
    },
  },
  {
    type: 'usage',
    turn_id: 1,
    model: 'openai/gpt',
    input_tokens: 900,
    cached_input_tokens: null,
    output_tokens: 30,
    discarded_output_tokens: 0,
  },
  {
    type: 'recording',
    tracks: [{ role: 'agent', segments: 1, rate_hz: 8_000, started_at: AT, duration_ms: 9_000 }],
  },
  {
    type: 'media',
    quality: {
      packets_received: 450,
      packets_lost: 0,
      packets_sent: 450,
      jitter_ms: 0.4,
      round_trip_ms: null,
      mos: 4.4,
    },
  },
  { type: 'ended', at: AT, end_reason: 'user_hangup' },
  {
    type: 'analysis',
    job_id: 'j1',
    result: {
      status: 'completed',
      summary: 'Asked for the opening hours.',
      data: [{ name: 'day', type: 'text', value: 'Friday', rationale: 'said so' }],
      criteria_results: [{ name: 'helped', result: 'success', rationale: 'answered' }],
      error: null,
    },
  },
  {
    type: 'agent_test',
    result: {
      status: 'passed',
      needs_review: false,
      error: null,
      agent_replies: 1,
      agent_reply: 'We are open.',
      judge_reasoning: 'It says so.',
      latency_ms: 400,
      turns_used: 2,
      ended_by: 'agent',
      mock_gaps: [{ tool_name: 'book', source: 'missing', calls: 1 }],
      simulation_result: {
        transcript: [{ role: 'user', text: 'Hello' }],
        tool_calls: [
          {
            tool_id: 't1',
            tool_name: 'book',
            arguments: '{}',
            mock_source: 'test',
            status: 'completed',
            output: null,
          },
        ],
        assertions: [{ kind: 'ended_by', target: 'agent', passed: true, detail: '' }],
        conditions: [{ name: 'polite', result: 'success', rationale: 'was' }],
        summary: 'Passed.',
        passed: true,
      },
    },
  },
];

/** What a worker sends. */
export const WORKER_FRAMES: readonly object[] = [
  {
    type: 'register',
    link_version: 1,
    instance_id: 'worker-1',
    supervisor_run: null,
    capacity: 200,
    codecs: ['PCMU', 'PCMA'],
    sip_tag: 'worker-1',
    kinds: ['phone', 'web', 'analysis', 'agent_test'],
    sessions: [SESSION],
    spools_of: ['worker-0'],
  },
  { type: 'spool.flushed', instance_id: 'worker-0' },
  { type: 'heartbeat', calls: 1, free_slots: 199, loop_lag_p95_ms: 1.5 },
  { type: 'accept', ...SESSION },
  { type: 'decline', ...SESSION, reason: 'full' },
  ...REPORTS.map((report, index) => ({ type: 'report', envelope: { ...SESSION, seq: index + 1, report } })),
  { type: 'live', ...SESSION, event: { type: 'transcript', role: 'agent', text: 'Hello', final: true } },
  { type: 'answer', request_id: 'r1', result: { ok: true, value: { sdp: SDP } } },
  { type: 'answer', request_id: 'r1', result: { ok: false, code: 'not_found', message: 'no such call' } },
];

const COLLEAGUE = { ...SESSION, request_id: 'r1', participant_id: 'p1' };

/** What a control plane sends. `plan` is that of a phone call. */
export function controlFrames(plan: object, webPlan: object): readonly object[] {
  const takenOver = { items: ITEMS, was_cut_off: true, elapsed_ms: 9_000, lost_at: AT };
  const joined = { type: 'participant.join', ...COLLEAGUE, name: 'Ann', mode: 'listen' };
  return [
    { type: 'registered', link_version: 1 },
    { type: 'offer', ...SESSION, kind: 'phone', sip_call_id: DIALOG.sip_call_id },
    { type: 'assign', ...SESSION, plan },
    { type: 'assign', ...SESSION, plan: webPlan, handover: { ...takenOver, dialog: null } },
    {
      type: 'assign',
      ...SESSION,
      plan,
      handover: { ...takenOver, dialog: DIALOG, person: { dialog: DIALOG, is_joined: true } },
    },
    { type: 'assign_analysis', ...SESSION, job: { job_id: 'j1', plan, items: ITEMS } },
    {
      type: 'assign_agent_test',
      ...SESSION,
      job: {
        run_id: 'run1',
        plan: webPlan,
        test: { test_type: 'next_reply', conversation: [{ role: 'user', text: 'Hello' }] },
        stored_mocks: [{ tool_id: 't1', status_code: 200, body: '{}' }],
      },
    },
    { type: 'withdraw', ...SESSION },
    { type: 'ack', ...SESSION, seq: 3 },
    { type: 'resend', ...SESSION, from_seq: 2 },
    { type: 'stale', ...SESSION },
    { type: 'end', ...SESSION, end_reason: 'conversation_timeout' },
    { type: 'webrtc.offer', ...SESSION, request_id: 'r1', sdp: SDP },
    { ...joined, connection: { type: 'webrtc', sdp: SDP } },
    { ...joined, connection: { type: 'livekit', url: 'wss://rooms.example.com', token: 't', identity: 'i' } },
    { type: 'participant.change', ...COLLEAGUE, change: 'take_over' },
    { type: 'replay', request_id: 'r1', log: 'a log', settings: { response_wait_ms: 300 } },
  ];
}

const QUESTION = {
  call_id: DIALOG.sip_call_id,
  from_user: '+15550100077',
  to_user: '+15550100000',
  source_address: '192.0.2.1',
  source_port: 5_060,
  transport: 'udp',
  headers: { 'x-account': 'a1' },
};

/** What signalling asks a control plane about an INVITE. */
export const QUESTIONS: readonly object[] = [QUESTION, { ...QUESTION, is_answerable: false }];
