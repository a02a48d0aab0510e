/** Every limit of the product that is not a setting. */

export const LIMITS = {
  toolNameChars: 120,
  toolDescriptionChars: 2_000,
  argumentNameChars: 64,
  argumentDescriptionChars: 500,
  urlChars: 4_000,
  bodyTemplateChars: 100_000,
  toolTimeoutSeconds: 120,
  backgroundToolTimeoutSeconds: 300,
  backgroundCallsInFlight: 10,
  /** Answer to a tool's test or a test event */
  testedResponseBytes: 64 * 1024,
  systemPromptTokens: 4_000,
  postCallEndpoints: 5,
  webhookSecretChars: 256,
  webhookAttempts: 3,
  webhookAttemptMs: 10_000,
  initWebhookSeconds: 8,
  webhookBackoffMs: [1_000, 5_000],
  signatureToleranceSeconds: 300,
  variableEntries: 500,
  variableBytes: 1024 * 1024,
  variableChars: 100_000,
  pageOffsetRows: 100_000,
  /** our choice: a text after its placeholders are filled */
  renderedChars: 1_048_576,
  /** our choice: rows that a list counts for its total */
  countedRows: 100_000,
  /** Limit of the raw system prompt */
  systemPromptChars: 100_000,
  uploadBytes: 1_048_576,
  agentNameChars: 120,
  agentDescriptionChars: 2_000,
  allowedOrigins: 20,
  sessionNameChars: 128,
  endUserIdChars: 256,
  llmExtraBodyBytes: 16 * 1024,
  metadataBytes: 16 * 1024,
  /** our choice: nesting levels of free JSON such as metadata */
  jsonDepth: 100,
  toolTestArgumentBytes: 1024 * 1024,
  /**
   * our choice: output of a model in one reply; bytes of an answer, of one of its events, and of an error
   * answer; tool calls and their arguments
   */
  replyChars: 60_000,
  modelAnswerBytes: 8 * 1_048_576,
  modelEventBytes: 64 * 1024,
  modelRefusalBytes: 64 * 1024,
  modelToolCalls: 64,
  modelToolChars: 64 * 1024,
  /** Stored output of a tool */
  toolOutputBytes: 256 * 1024,
  /** Tool values on the data channel */
  toolEventBytes: 4 * 1024,
  /** our choice: tools of MCP servers (docs/mcp.md) */
  agentToolServers: 10,
  agentServerTools: 64,
  listedServerTools: 128,
  serverToolDescriptionChars: 4_000,
  serverToolSchemaBytes: 16 * 1024,
  serverListBytes: 512 * 1024,
  serverResultBytes: 64 * 1024,
  serverResponseBytes: 2 * 1_048_576,
  /** All pages of a server's list */
  serverListAnswerBytes: 1_048_576,
  /** Messages that a server sends unasked, until its stream is opened again */
  serverStreamBytes: 256 * 1024,
  serverOpenRequests: 50,
  serverTokenChars: 16 * 1024,
  /** By each process */
  serverTokensKept: 2_000,
  /** Parts of one message: blocks, tools and fields near its top, and those further down */
  serverMessageItems: 2_000,
  serverMessageParts: 50_000,
  serverMessageDepth: 200,
  serverConnectMs: 5_000,
  serverToolSeconds: 300,
  knowledgeSources: 100,
  knowledgeInlineBytes: 8 * 1024,
  /** our choice: the same as for agents */
  knowledgeNameChars: 120,
  knowledgeDescriptionChars: 2_000,
  /** our choice: a plan is one frame of the worker link, and JSON at most doubles the length of a text */
  planKnowledgeBytes: 24 * 1024 * 1024,
  /** our choice */
  suggestionDescriptionChars: 1_000,
  suggestionsPerMinute: 10,
  suggestionsAtOnce: 2,
  /** our choice: ten calls at a time, each with some moves a minute */
  testCallQuestionsAtOnce: 20,
  testCallQuestionsPerMinute: 300,
  testCallMovesPerMinute: 60,
  /** our choice: the thread of a worker that judges pauses has the processor for seconds */
  tuningsAtOnce: 1,
  tuningsPerMinute: 6,
  tunedCalls: 200,
  /** our choice: as of a tuning, for the thread that replays one call */
  replaysAtOnce: 2,
  replaysPerMinute: 30,
  /** our choice: flight log of one call that a worker replays or tunes */
  replayedLogBytes: 8 * 1_048_576,
  /** our choice: a rehearsal has a worker's thread for minutes; its result is some hundred kilobytes */
  rehearsalsAtOnce: 1,
  rehearsalsPerMinute: 6,
  rehearsedCalls: 10_000,
  rehearsalDays: 90,
  rehearsalsKept: 10,
  rehearsalNotJudged: 200,
  /** our choice: each turn asks models twice; its answers have some kilobytes */
  judgedTurns: 500,
  /** our choice: calls that are read to draw turns; more calls, not more turns of one, tell more */
  judgedCallsRead: 200,
  /** our choice: a call before a turn that is asked again, a quarter of the longest context; its entries */
  judgedTurnBytes: 1_048_576,
  judgedTurnEntries: 4_000,
  /** our choice: an estimate reads as many calls */
  estimatesPerMinute: 12,
  /** our choice: dollars */
  judgedMostCost: 1_000,
  /** our choice: days of regret that are kept, and asked for at once */
  regretDays: 400,
  /** our choice: a call in a file, which a worker does not see, but the process reads and encodes */
  callFilesAtOnce: 2,
  callFilesPerMinute: 20,
  /** our choice: sound in such a file before compression; a browser opens the file as one text, base64 */
  callFilePcmBytes: 256 * 1_048_576,
  callFileRedactions: 1_000,
  testAgents: 100,
  testRunsPerBatch: 200,
  /** our choice: regular expressions of one test */
  testPatterns: 100,
  /** our choice */
  batchRows: 10_000,
  batchColumns: 200,
  batchUploadBytes: 8 * 1_048_576,
  batchNameChars: 120,
  batchConcurrentCalls: 500,
  batchCallsPerMinute: 1_000,
  batchAttempts: 5,
  disclosureChars: 1_000,
  optOutPhrases: 20,
  optOutPhraseChars: 80,
  /** our choice: a text message, turns of a text session, those that wait, and their bytes sent to a model */
  textMessageChars: 8_000,
  textSessionTurns: 500,
  textWaitingTurns: 8,
  textHistoryBytes: 512 * 1024,
  /** our choice: bytes of a text session that its API and its analysis read at once */
  textTimelineBytes: 8 * 1_048_576,
  /** our choice: connections of an account's text sessions to one replica */
  textSockets: 1_000,
  recordingUrlSeconds: 900,
  /** our choice: text of one synthesis request */
  spokenChars: 100_000,
  pronunciationItems: 5_000,
  pronunciationKeyChars: 256,
  pronunciationValueChars: 1_024,
  pronunciationDictionaries: 3,
  /** The pro model accepts as many bytes as the compatible APIs. */
  transcribeBytes: 50 * 1_048_576,
  transcribeProBytes: 100 * 1_048_576,
  transcribeMinutes: 60,
  transcribeSeconds: 0.08,
  /** our choice: room for inline references */
  synthesisBodyBytes: 32 * 1_048_576,
  compatSpeechBodyBytes: 32 * 1_048_576,
  compatVendorBodyBytes: 140 * 1_048_576,
  compatAudioBytes: 100 * 1_048_576,
  compatFrameBytes: 32 * 1_048_576,
  compatItemBytes: 1_048_576,
  compatPendingItems: 1_024,
  compatConnectionMs: 3_600_000,
  firstByteMs: 300_000,
  /** Concurrent requests, by total top-ups (micro-dollars; a row holds below its amount) */
  speechConcurrency: [
    { belowMicros: 100_000_000, requests: 5 },
    { belowMicros: 1_000_000_000, requests: 15 },
    { belowMicros: Number.POSITIVE_INFINITY, requests: 50 },
  ],
  voiceSamples: 20,
  voiceSampleBytes: 20 * 1_048_576,
  voiceTitleChars: 120,
  /**
   * our choice: SIP over TCP and TLS. The idle limit is longer than any call, so that a call without further
   * signalling keeps its connection
   */
  sipConnections: 4_096,
  sipConnectionsPerAddress: 256,
  sipMessageMs: 30_000,
  sipIdleMs: 65 * 60_000,
  sipUnsentBytes: 1_048_576,
  /** our choice: one conversation must not make many calls at the operator's cost */
  transfersPerCall: 5,
  pageSizeDefault: 30,
  pageSizeMax: 100,
} as const;
