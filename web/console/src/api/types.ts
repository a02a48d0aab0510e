/** Made by `npm run console:types` from the routes' own schemas; not to be edited. */

/** What `GET /v1/account` answers. */
export type Account = {
  user_id: string;
  name: string;
  team_id: string;
  workspace_id: string;
  beta_access: boolean;
  phone_number_limit: number;
  outbound_enabled: boolean;
  daily_cap: string | null;
  concurrent_calls: number | null;
  is_operator: boolean;
  key_id: string;
  low_credit: boolean;
};

/** What `GET /v1/agent/agents/{agent_id}` answers. */
export type Agent = {
  agent_id: string;
  workspace_id: string;
  name: string;
  description: string;
  status: "active" | "archived";
  public_enabled: boolean;
  allowed_origins: string[];
  overrides_allowed: ("first_message" | "system_prompt" | "voice_id" | "language")[];
  publication_state: "live" | "draft";
  has_unpublished_changes: boolean;
  created_at: string;
  updated_at: string;
};

/** What `GET /v1/agent/agents/{agent_id}/config` answers. */
export type AgentConfig = {
  prompt: {
    system_prompt: string;
    first_message_mode: "off" | "fixed" | "prompt";
    first_message: string;
    first_message_prompt: string;
  };
  voice: {
    voice_id: string;
    speaking_language: "en" | "ja" | "zh" | "ko" | "es" | "fr" | "de" | "pt" | "it" | "nl" | "ar" | "hi" | "id" | "tr" | "ru" | "bg" | "sr" | "hr" | "cs" | "sk" | "pl" | "uk" | "ro" | "hu" | "el" | "sv" | "da" | "no" | "fi" | "et" | "lv" | "lt" | "ca" | "he" | "fa" | "ur" | "kk" | "ka" | "hy" | "bn" | "ta" | "te" | "kn" | "mr" | "gu" | "pa" | "ne" | "th" | "vi" | "ms" | "tl" | "af";
    expressive: boolean;
    speed: number;
    pronunciation_dictionary_ids: string[];
  };
  asr: {
    model: string;
    multilingual: boolean;
    strict_language: boolean;
    keyterms: string[];
  };
  conversation: {
    max_duration_seconds: number;
    response_wait_ms: number;
    eagerness: "relaxed" | "balanced" | "eager";
    response_max_wait_ms: number | null;
    interruptible: boolean;
    interruption_sensitivity: "low" | "balanced" | "high";
    interruption_ignore_phrases: string[];
    speculative_response: boolean;
    reengage_enabled: boolean;
    hangup_after_seconds: number;
    hangup_farewell_enabled: boolean;
    record_audio: boolean;
    timezone: string;
    transfer_destinations: {
      type: "phone" | "sip";
      label: string;
      description: string;
      phone_number: string;
      sip_uri: string;
      mode: "cold" | "warm";
      warm_connect: "confirm" | "direct" | "briefing";
      announcement_mode: "generated" | "fixed" | "off";
      announcement_message: string;
      warm_briefing_instructions: string;
      on_failure: {
        action: "return_to_agent" | "end_call";
        message: string;
      };
    }[];
    transfer_refuse_questions: boolean;
    outbound: {
      amd_enabled: boolean;
      voicemail: {
        action: "hangup" | "leave_message" | "leave_prompt_message";
        message: string;
      };
    };
    keypad_menu: {
      enabled: boolean;
      prompt: string;
      options: {
        key: string;
        label: string;
        value: string;
      }[];
      accept_speech: boolean;
      variable: string;
      no_input_timeout_seconds: number;
      max_attempts: number;
      retry_message: string;
      fallback_value: string;
    };
    keypad_input: {
      enabled: boolean;
      terminator: "#" | "*" | "";
      inter_digit_timeout_seconds: number;
    };
  };
  tools: {
    enabled: boolean;
    tool_ids: string[];
    system_tools: {
      hang_up_call: boolean;
      hang_up_call_farewell_mode: "generated" | "fixed" | "off";
      hang_up_call_farewell_message: string;
      hang_up_call_refuse_questions: boolean;
    };
  };
  webhooks: {
    conversation_init: {
      url: string;
      has_secret: boolean;
      timeout_seconds: number;
    } | null;
    post_call: {
      url: string;
      has_secret: boolean;
    }[];
  };
  knowledge_base: {
    enabled: boolean;
    knowledge_source_ids: string[];
  };
  analysis: {
    summary: {
      enabled: boolean;
      prompt: string | null;
      language: "en" | "ja" | "zh" | "ko" | "es" | "fr" | "de" | "pt" | "it" | "nl" | "ar" | "hi" | "id" | "tr" | "ru" | "bg" | "sr" | "hr" | "cs" | "sk" | "pl" | "uk" | "ro" | "hu" | "el" | "sv" | "da" | "no" | "fi" | "et" | "lv" | "lt" | "ca" | "he" | "fa" | "ur" | "kk" | "ka" | "hy" | "bn" | "ta" | "te" | "kn" | "mr" | "gu" | "pa" | "ne" | "th" | "vi" | "ms" | "tl" | "af";
    };
    data_fields: {
      name: string;
      type: "boolean" | "text" | "number" | "enum";
      description: string;
      enum_options?: string[];
    }[];
    criteria: {
      name: string;
      description: string;
    }[];
  };
  guardrails: {
    focus: boolean;
    manipulation: boolean;
  };
  llm: {
    model: string;
    custom: {
      base_url: string;
      model: string;
      has_secret: boolean;
    } | null;
  };
  variables: {
    defaults: Record<string, string | number | boolean>;
    on_missing: "keep" | "empty" | "reject";
  };
  agent_id: string;
  config_hash: string;
  updated_at: string;
};

/** What `GET /v1/agent/agents/{agent_id}/limits` answers. */
export type AgentLimits = {
  daily_cap: string | null;
  concurrent_calls: number | null;
};

/** What `GET /v1/agent/tests/{test_id}` answers. */
export type AgentTest = {
  test_type: "next_reply" | "tool" | "simulation";
  conversation: {
    role: "agent" | "user";
    text: string;
  }[];
  expectation: string;
  success_examples: string[];
  failure_examples: string[];
  referenced_tool: {
    id: string;
    name: string;
    type: "webhook" | "client" | "integration";
    description: string;
  } | null;
  tool_parameters: {
    name: string;
    value: string | number | boolean | null;
    type: "string" | "number" | "boolean" | null;
  }[];
  verify_absence: boolean;
  dynamic_variables: Record<string, string | number | boolean>;
  simulation: {
    scenario: string;
    max_turns: number;
    success_conditions: {
      name: string;
      description: string;
    }[];
    assertions: {
      tool_calls: {
        tool: string;
        params: Record<string, {
          type: "exact" | "regex" | "any";
          value: string;
        }>;
        min_calls: number;
        max_calls: number | null;
      }[];
      forbidden_tools: string[];
      ended_by: "agent" | "user" | "transfer" | "any" | null;
    };
    tool_mocks: {
      strategy: "all" | "selected" | "none";
      fallback: "error" | "real";
      tools: {
        tool: string;
        result: unknown;
        status: number | null;
        when: Record<string, {
          type: "exact" | "regex" | "any";
          value: string;
        }> | null;
        error: boolean;
      }[];
      real_tools: string[];
    };
    repeat_count: number;
    channel: "web_voice" | "phone_inbound" | "phone_outbound" | null;
    simulated_user_model: string | null;
  } | null;
  test_id: string;
  workspace_id: string;
  name: string;
  agent_ids: string[];
  created_at: string;
  updated_at: string;
};

/** What `GET /v1/agent/analytics` answers. */
export type Analytics = {
  from: string;
  to: string;
  interval: "hour" | "day";
  truncated: boolean;
  totals: {
    calls: number;
    answered: number;
    answer_rate: number | null;
    live: number;
    total_seconds: number;
    average_seconds: number | null;
    cost: string;
    latency: {
      turns: number;
      p50_ms: number | null;
      p95_ms: number | null;
      p99_ms: number | null;
    };
    end_reasons: Record<string, number>;
  };
  buckets: {
    calls: number;
    answered: number;
    answer_rate: number | null;
    live: number;
    total_seconds: number;
    average_seconds: number | null;
    cost: string;
    latency: {
      turns: number;
      p50_ms: number | null;
      p95_ms: number | null;
      p99_ms: number | null;
    };
    end_reasons: Record<string, number>;
    start: string;
  }[];
  agents: {
    calls: number;
    answered: number;
    answer_rate: number | null;
    live: number;
    total_seconds: number;
    average_seconds: number | null;
    cost: string;
    latency: {
      turns: number;
      p50_ms: number | null;
      p95_ms: number | null;
      p99_ms: number | null;
    };
    end_reasons: Record<string, number>;
    agent_id: string;
    agent_name: string;
  }[];
};

/** What `GET /v1/agent/available-phone-numbers` answers. */
export type AvailableNumbers = {
  available_phone_numbers: {
    phone_number: string;
    country_code: string;
    region: string;
    locality: string;
    number_type: string;
    provider: string;
    daily_price: string;
    monthly_price: string;
  }[];
};

/** What `GET /v1/agent/batch-calls/{batch_call_id}` answers. */
export type BatchCall = {
  batch_call_id: string;
  agent_id: string;
  phone_number_id: string;
  name: string;
  status: "scheduled" | "running" | "paused" | "completed" | "cancelled";
  status_reason: string | null;
  row_count: number;
  counts: {
    waiting: number;
    calling: number;
    completed: number;
    busy: number;
    no_answer: number;
    failed: number;
    do_not_call: number;
    cancelled: number;
    opted_out: number;
  };
  schedule: {
    start_at: string | null;
    calling_hours: {
      start: string;
      end: string;
      days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
    } | null;
  };
  pacing: {
    concurrent_calls: number;
    calls_per_minute: number;
  };
  retry: {
    on: ("busy" | "no_answer" | "failed")[];
    max_attempts: number;
    delay_seconds: number;
  };
  disclosure: string;
  opt_out: {
    key: string | null;
    phrases: string[];
    confirmation: string;
  } | null;
  opens_at: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
};

/** What `GET /v1/agent/batch-calls` answers. */
export type BatchCallList = {
  batch_calls: {
    batch_call_id: string;
    agent_id: string;
    phone_number_id: string;
    name: string;
    status: "scheduled" | "running" | "paused" | "completed" | "cancelled";
    status_reason: string | null;
    row_count: number;
    counts: {
      waiting: number;
      calling: number;
      completed: number;
      busy: number;
      no_answer: number;
      failed: number;
      do_not_call: number;
      cancelled: number;
      opted_out: number;
    };
    schedule: {
      start_at: string | null;
      calling_hours: {
        start: string;
        end: string;
        days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
      } | null;
    };
    pacing: {
      concurrent_calls: number;
      calls_per_minute: number;
    };
    retry: {
      on: ("busy" | "no_answer" | "failed")[];
      max_attempts: number;
      delay_seconds: number;
    };
    disclosure: string;
    opt_out: {
      key: string | null;
      phrases: string[];
      confirmation: string;
    } | null;
    opens_at: string | null;
    created_at: string;
    started_at: string | null;
    finished_at: string | null;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `GET /v1/agent/batch-calls/{batch_call_id}/rows` answers. */
export type BatchRowList = {
  rows: {
    row_id: string;
    line: number;
    to_number: string;
    state: "waiting" | "calling" | "completed" | "busy" | "no_answer" | "failed" | "do_not_call" | "cancelled";
    session_id: string | null;
    attempts: {
      session_id: string;
      dialled_at: string;
      outcome: "waiting" | "calling" | "completed" | "busy" | "no_answer" | "failed" | "do_not_call" | "cancelled";
    }[];
    next_at: string | null;
    time_zones: string[];
    dynamic_variables: Record<string, unknown>;
    metadata: Record<string, unknown>;
    end_user_id: string | null;
    opted_out: boolean;
    error: string | null;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `POST /v1/keys` answers. */
export type CreatedKey = {
  key_id: string;
  api_key: string;
};

/** What `GET /v1/agent/deliveries` answers. */
export type Deliveries = {
  deliveries: {
    delivery_id: string;
    session_id: string;
    event: string;
    url: string;
    state: "queued" | "pending" | "delivered" | "dropped";
    attempts: number;
    last_status: number | null;
    last_error: string | null;
    created_at: string;
    last_attempt_at: string | null;
    next_at: string | null;
    finished_at: string | null;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `GET /v1/agent/do-not-call` answers. */
export type DoNotCallList = {
  do_not_call: {
    phone_number: string;
    source: "api" | "voice" | "key";
    note: string;
    session_id: string | null;
    created_at: string;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `GET /v1/keys` answers. */
export type KeyList = {
  keys: {
    key_id: string;
    name: string;
    expires_at: string | null;
    created_at: string;
  }[];
};

/** What `GET /v1/agent/knowledge-sources` answers. */
export type KnowledgeList = {
  knowledge_sources: {
    knowledge_source_id: string;
    workspace_id: string;
    name: string;
    description: string;
    file_name: string;
    size_bytes: number;
    chunk_count: number;
    revision_number: number;
    created_at: string;
    updated_at: string;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `GET /wallet/{user_id}/ledger` answers. */
export type Ledger = {
  entries: {
    seq: number;
    kind: "top_up" | "hold" | "settle" | "refund" | "void" | "adjust";
    amount: string;
    balance: string;
    session_id: string | null;
    reference: string;
    created_at: string;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `GET /v1/agent/models` answers. */
export type Models = {
  llm: {
    id: string;
    default: boolean;
  }[];
  asr: {
    id: string;
    default: boolean;
  }[];
  voices: {
    id: string;
    name: string;
    languages: string[];
    default: boolean;
  }[];
};

/** What `POST /v1/agent/sessions/{session_id}/participants` answers. */
export type ParticipantGrant = {
  transport: "webrtc";
  webrtc_url: string;
  token: string;
  ice_servers: {
    urls: string | string[];
    username?: string;
    credential?: string;
  }[];
  session_id: string;
  participant_id: string;
} | {
  transport: "livekit";
  livekit_url: string;
  token: string;
  session_id: string;
  participant_id: string;
};

/** What `PATCH /v1/agent/phone-numbers/{phone_number_id}` answers. */
export type PhoneNumber = {
  phone_number_id: string;
  workspace_id: string;
  phone_number: string;
  provider: "managed" | "sip";
  label: string;
  agent_id: string | null;
  status: "provisioning" | "active" | "error" | "released";
  status_detail: string;
  supports_outbound: boolean;
  transfer_caller_id: "agent_number" | "original_caller";
  caller_id_sync_status: "synced" | "pending" | "error" | "carrier_managed";
  caller_id_sync_error: string;
  inbound_auth_username: string | null;
  inbound_allowed_addresses: string[];
  termination_uri: string | null;
  termination_transport: "auto" | "udp" | "tcp" | "tls" | null;
  termination_auth_username: string | null;
  termination_headers: Record<string, string>;
  created_at: string;
  updated_at: string;
};

/** What `POST /v1/agent/agents/{agent_id}/preview-sessions` answers. */
export type PreviewSession = {
  transport: "webrtc";
  webrtc_url: string;
  token: string;
  ice_servers: {
    urls: string | string[];
    username?: string;
    credential?: string;
  }[];
  session_id: string;
  expires_at: string;
  max_duration_seconds: number;
} | {
  transport: "livekit";
  livekit_url: string;
  token: string;
  session_id: string;
  expires_at: string;
  max_duration_seconds: number;
};

/** What `GET /v1/agent/sessions/{session_id}/recording` answers. */
export type Recording = {
  session_id: string;
  status: "processing" | "complete" | "failed";
  tracks: {
    role: "agent" | "user" | "human";
    status: "requested" | "active" | "complete" | "failed";
    url: string | null;
    expires_at: string | null;
    duration_ms: number | null;
    started_at: string | null;
    ended_at: string | null;
    gaps: {
      start_ms: number;
      duration_ms: number;
    }[];
    error: string | null;
    error_code: string | null;
  }[];
  error: string | null;
  error_code: string | null;
  error_message: string | null;
};

/** What `GET /v1/agent/refusals` answers. */
export type Refusals = {
  refusals: {
    refusal_id: string;
    kind: "inbound_call" | "outbound_call" | "session" | "public_session" | "phone_number";
    reason: string;
    message: string;
    status: number;
    agent_id: string | null;
    caller_number: string | null;
    dialed_number: string | null;
    sip_call_id: string | null;
    created_at: string;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `POST /v1/agent/sessions/{session_id}/replay` answers. */
export type ReplayedCall = {
  divergence: {
    was: {
      at: string;
      did: "play" | "pause" | "resume" | "clear" | "transfer" | "hang_up" | "generate";
    } | null;
    would_be: {
      at: string;
      did: "play" | "pause" | "resume" | "clear" | "transfer" | "hang_up" | "generate";
    } | null;
    judged: number;
  } | null;
};

/** What `GET /v1/agent/sessions/{session_id}` answers. */
export type SessionDetail = {
  session_id: string;
  agent_id: string;
  agent_name: string;
  name: string | null;
  status: "pending" | "active" | "completed" | "failed" | "unknown";
  end_reason: "user_hangup" | "agent_hangup" | "escalated" | "conversation_timeout" | "heartbeat_timeout" | "agent_join_timeout" | "internal_error" | "llm_endpoint_failure" | "room_join_timeout" | "cancelled" | "dial_failed" | null;
  source: "api_key" | "dashboard" | "public" | "phone";
  direction: "inbound" | "outbound";
  dial_status: "answered" | "busy" | "no_answer" | "failed" | null;
  answered_by: "unknown" | null;
  caller_number: string | null;
  dialed_number: string | null;
  sip_call_id: string | null;
  timezone: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  duration_seconds: number | null;
  participant_identity: string | null;
  agent_participant_identity: string | null;
  agent_joined_at: string | null;
  metadata: Record<string, unknown>;
  items: ({
    type: "message";
    role: "user" | "assistant" | "human";
    content: string;
    turn_id: number | null;
    created_at: string;
    id: string;
  } | {
    type: "tool_call";
    call_id: string;
    tool_name: string;
    tool_source: string | null;
    input: string;
    turn_id: number | null;
    created_at: string;
  } | {
    type: "tool_result";
    call_id: string;
    tool_name: string;
    tool_source: string | null;
    status: "completed" | "failed";
    output: string | null;
    output_truncated: boolean;
    error: string | null;
    latency_ms: number | null;
    turn_id: number | null;
    created_at: string;
  } | {
    type: "knowledge_retrieval";
    query: string;
    status: "completed" | "timeout";
    latency_ms: number;
    citations: {
      knowledge_source_id: string;
      name: string;
      chunk: number;
    }[];
    turn_id: number | null;
    created_at: string;
  } | {
    type: "llm.endpoint_error";
    message: string;
    status: number | null;
    turn_id: number | null;
    created_at: string;
  } | {
    type: "participant";
    participant_id: string;
    name: string | null;
    event: "joined" | "took_over" | "handed_back" | "left";
    turn_id: null;
    created_at: string;
  })[];
  analysis: {
    status: "queued" | "running" | "completed" | "skipped" | "error";
    summary: string | null;
    data: {
      name: string;
      type: string;
      value: string | number | boolean | null;
      rationale: string;
    }[];
    criteria_results: {
      name: string;
      result: "success" | "failure" | "unknown";
      rationale: string;
    }[];
  } | null;
  turns: {
    turn_id: number;
    speech_ended_at: string;
    endpoint_ms: number;
    transcript_ms: number;
    first_token_ms: number;
    first_sentence_ms: number;
    first_audio_ms: number;
    playout_ms: number;
    total_ms: number;
    endpoint_rule: string;
    speculative: boolean;
    explanation: string;
  }[];
  silences: {
    turn_id: number | null;
    started_at: string;
    duration_ms: number;
    ended_by: "agent" | "caller";
    causes: {
      cause: "endpoint" | "transcript" | "model" | "sentence" | "voice" | "answer" | "tool" | "caller_silent";
      rule: string | null;
      ms: number;
    }[];
    decisions: {
      about: string;
      rule: string;
      anchor_at: string;
      deadline_at: string;
      decided_at: string;
      rejected: {
        rule: string;
        deadline_at: string;
        because: string;
      }[];
    }[];
    explanation: string;
  }[];
  llm_usage: {
    turn_id: number | null;
    status: "complete" | "unavailable";
    billing_mode: "included";
    call_count: number;
    usage_complete: boolean;
    cost_usd: string | null;
    discarded_output_tokens: number;
    tokens: {
      model: string;
      category: "input" | "cache_read" | "output";
      tokens: number;
      rate_per_million: string | null;
      cost_usd: string | null;
    }[];
  }[];
  takeovers: {
    lost_at: string;
    taken_over_at: string;
  }[];
  media_quality: {
    packets_received: number;
    packets_lost: number;
    packets_sent: number;
    jitter_ms: number;
    round_trip_ms: number | null;
    jitter_buffer_ms: number | null;
    concealed_share: number | null;
    mos: number | null;
  } | null;
  sip_headers: Record<string, string> | null;
};

/** What `GET /v1/agent/sessions` answers. */
export type SessionList = {
  sessions: {
    session_id: string;
    agent_id: string;
    agent_name: string;
    name: string | null;
    status: "pending" | "active" | "completed" | "failed" | "unknown";
    end_reason: "user_hangup" | "agent_hangup" | "escalated" | "conversation_timeout" | "heartbeat_timeout" | "agent_join_timeout" | "internal_error" | "llm_endpoint_failure" | "room_join_timeout" | "cancelled" | "dial_failed" | null;
    source: "api_key" | "dashboard" | "public" | "phone";
    direction: "inbound" | "outbound";
    dial_status: "answered" | "busy" | "no_answer" | "failed" | null;
    answered_by: "unknown" | null;
    caller_number: string | null;
    dialed_number: string | null;
    sip_call_id: string | null;
    timezone: string | null;
    created_at: string;
    started_at: string | null;
    ended_at: string | null;
    duration_seconds: number | null;
    participant_identity: string | null;
    agent_participant_identity: string | null;
    agent_joined_at: string | null;
    metadata: Record<string, unknown>;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `GET /v1/agent/agents/{agent_id}/test-batches/{batch_id}` answers. */
export type TestBatch = {
  batch_id: string;
  agent_id: string;
  status: "running" | "completed";
  completed: number;
  passed: number;
  failed: number;
  errors: number;
  pass_rate: number | null;
  run_count: number;
  trigger_source: "console" | "api";
  config_hash: string;
  created_at: string;
  finished_at: string | null;
};

/** What `GET /v1/agent/test-runs/{run_id}` answers. */
export type TestRun = {
  run_id: string;
  test_id: string;
  agent_id: string;
  batch_id: string | null;
  test_type: "next_reply" | "tool" | "simulation";
  repeat_index: number;
  status: "queued" | "running" | "passed" | "failed" | "error";
  needs_review: boolean;
  error: string | null;
  usage: {
    agent_replies: number;
    cost_usd: number | null;
  };
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  agent_reply: string | null;
  judge_reasoning: string | null;
  config_hash: string;
  latency_ms: number | null;
  channel: "web_voice" | "phone_inbound" | "phone_outbound";
  turns_used: number | null;
  ended_by: "agent" | "user" | "transfer" | "max_turns" | "timeout" | "error" | null;
  mock_gaps: {
    tool_name: string;
    source: "missing" | "unmatched";
    calls: number;
  }[];
  simulation_result: {
    transcript: {
      role: "agent" | "user";
      text: string;
    }[];
    tool_calls: {
      tool_id: string | null;
      tool_name: string;
      arguments: string;
      mock_source: "test" | "tool" | "missing" | "unmatched" | "real";
      status: "completed" | "failed";
      output: string | null;
    }[];
    assertions: {
      kind: "tool_call" | "forbidden_tool" | "ended_by";
      target: string;
      passed: boolean;
      detail: string;
    }[];
    conditions: {
      name: string;
      result: "success" | "failure" | "unknown";
      rationale: string;
    }[];
    summary: string;
    passed: boolean;
  } | null;
};

/** What `GET /v1/agent/agents/{agent_id}/test-tools` answers. */
export type TestTools = {
  tools: {
    id: string;
    name: string;
    type: "webhook" | "client" | "integration";
    description: string;
  }[];
};

/** What `GET /v1/agent/tools/{tool_id}` answers. */
export type Tool = {
  tool_id: string;
  workspace_id: string;
  name: string;
  description: string;
  tool_type: "webhook" | "client";
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  url: string;
  used_by: number;
  created_at: string;
  updated_at: string;
  content_type: string;
  timeout_seconds: number;
  error_handling: "passthrough" | "hide";
  arguments: {
    name: string;
    description: string;
  }[];
  body_template: string;
  headers: {
    name: string;
    kind: "custom" | "authorization_bearer" | "authorization_basic";
    value: string | null;
    has_secret: boolean;
  }[];
  mock_responses: {
    name: string;
    status_code: number;
    content_type: string;
    body: string;
  }[];
  expects_response: boolean;
  execution_mode: "blocking" | "fire_and_forget" | "background";
};

/** What `GET /v1/agent/tools` answers. */
export type ToolList = {
  tools: {
    tool_id: string;
    workspace_id: string;
    name: string;
    description: string;
    tool_type: "webhook" | "client";
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    url: string;
    used_by: number;
    created_at: string;
    updated_at: string;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `POST /v1/agent/tools/{tool_id}/test` answers. */
export type ToolTest = {
  status_code: number | null;
  latency_ms: number;
  headers: Record<string, string>;
  body: string;
  response_truncated: boolean;
  error: string | null;
};

/** What `GET /v1/agent/agents/{agent_id}/versions/{version_number}` answers. */
export type Version = {
  version_number: number;
  version_title: string | null;
  version_description: string | null;
  config_hash: string;
  published_at: string;
  config: {
    prompt: {
      system_prompt: string;
      first_message_mode: "off" | "fixed" | "prompt";
      first_message: string;
      first_message_prompt: string;
    };
    voice: {
      voice_id: string;
      speaking_language: "en" | "ja" | "zh" | "ko" | "es" | "fr" | "de" | "pt" | "it" | "nl" | "ar" | "hi" | "id" | "tr" | "ru" | "bg" | "sr" | "hr" | "cs" | "sk" | "pl" | "uk" | "ro" | "hu" | "el" | "sv" | "da" | "no" | "fi" | "et" | "lv" | "lt" | "ca" | "he" | "fa" | "ur" | "kk" | "ka" | "hy" | "bn" | "ta" | "te" | "kn" | "mr" | "gu" | "pa" | "ne" | "th" | "vi" | "ms" | "tl" | "af";
      expressive: boolean;
      speed: number;
      pronunciation_dictionary_ids: string[];
    };
    asr: {
      model: string;
      multilingual: boolean;
      strict_language: boolean;
      keyterms: string[];
    };
    conversation: {
      max_duration_seconds: number;
      response_wait_ms: number;
      eagerness: "relaxed" | "balanced" | "eager";
      response_max_wait_ms: number | null;
      interruptible: boolean;
      interruption_sensitivity: "low" | "balanced" | "high";
      interruption_ignore_phrases: string[];
      speculative_response: boolean;
      reengage_enabled: boolean;
      hangup_after_seconds: number;
      hangup_farewell_enabled: boolean;
      record_audio: boolean;
      timezone: string;
      transfer_destinations: {
        type: "phone" | "sip";
        label: string;
        description: string;
        phone_number: string;
        sip_uri: string;
        mode: "cold" | "warm";
        warm_connect: "confirm" | "direct" | "briefing";
        announcement_mode: "generated" | "fixed" | "off";
        announcement_message: string;
        warm_briefing_instructions: string;
        on_failure: {
          action: "return_to_agent" | "end_call";
          message: string;
        };
      }[];
      transfer_refuse_questions: boolean;
      outbound: {
        amd_enabled: boolean;
        voicemail: {
          action: "hangup" | "leave_message" | "leave_prompt_message";
          message: string;
        };
      };
      keypad_menu: {
        enabled: boolean;
        prompt: string;
        options: {
          key: string;
          label: string;
          value: string;
        }[];
        accept_speech: boolean;
        variable: string;
        no_input_timeout_seconds: number;
        max_attempts: number;
        retry_message: string;
        fallback_value: string;
      };
      keypad_input: {
        enabled: boolean;
        terminator: "#" | "*" | "";
        inter_digit_timeout_seconds: number;
      };
    };
    tools: {
      enabled: boolean;
      tool_ids: string[];
      system_tools: {
        hang_up_call: boolean;
        hang_up_call_farewell_mode: "generated" | "fixed" | "off";
        hang_up_call_farewell_message: string;
        hang_up_call_refuse_questions: boolean;
      };
    };
    webhooks: {
      conversation_init: {
        url: string;
        has_secret: boolean;
        timeout_seconds: number;
      } | null;
      post_call: {
        url: string;
        has_secret: boolean;
      }[];
    };
    knowledge_base: {
      enabled: boolean;
      knowledge_source_ids: string[];
    };
    analysis: {
      summary: {
        enabled: boolean;
        prompt: string | null;
        language: "en" | "ja" | "zh" | "ko" | "es" | "fr" | "de" | "pt" | "it" | "nl" | "ar" | "hi" | "id" | "tr" | "ru" | "bg" | "sr" | "hr" | "cs" | "sk" | "pl" | "uk" | "ro" | "hu" | "el" | "sv" | "da" | "no" | "fi" | "et" | "lv" | "lt" | "ca" | "he" | "fa" | "ur" | "kk" | "ka" | "hy" | "bn" | "ta" | "te" | "kn" | "mr" | "gu" | "pa" | "ne" | "th" | "vi" | "ms" | "tl" | "af";
      };
      data_fields: {
        name: string;
        type: "boolean" | "text" | "number" | "enum";
        description: string;
        enum_options?: string[];
      }[];
      criteria: {
        name: string;
        description: string;
      }[];
    };
    guardrails: {
      focus: boolean;
      manipulation: boolean;
    };
    llm: {
      model: string;
      custom: {
        base_url: string;
        model: string;
        has_secret: boolean;
      } | null;
    };
    variables: {
      defaults: Record<string, string | number | boolean>;
      on_missing: "keep" | "empty" | "reject";
    };
    agent_id: string;
    config_hash: string;
    updated_at: string;
  };
};

/** What `GET /v1/agent/agents/{agent_id}/versions` answers. */
export type VersionList = {
  versions: {
    version_number: number;
    version_title: string | null;
    version_description: string | null;
    config_hash: string;
    published_at: string;
  }[];
  has_more: boolean;
  next_cursor: string | null;
  total: number | null;
};

/** What `GET /wallet/{user_id}/api-credit` answers. */
export type Wallet = {
  _id: string;
  user_id: string;
  credit: string;
  cumulative_top_up: string;
  created_at: string;
  updated_at: string;
  has_phone_sha256: boolean;
  has_free_credit: boolean;
};

/** Bounds of the conversation settings. */
export const CONVERSATION_BOUNDS = {
  max_duration_seconds: { minimum: 60, maximum: 3600 },
  response_wait_ms: { minimum: 300, maximum: 2000 },
  response_max_wait_ms: { minimum: 0, maximum: 4000 },
  interruption_ignore_phrases: { maxItems: 50 },
  hangup_after_seconds: { minimum: 10, maximum: 3600 },
  transfer_destinations: { maxItems: 50 },
} as const;
