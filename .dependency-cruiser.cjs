// Who may import whom: base ← config ← protocol ← media ← telephony ← runtime, with the control plane beside
// them. processes composes all of them, and only main.ts imports it.
const within = (...folders) => `^(${folders.join('|')})/`;
const mayImport = {
  base: [],
  config: ['base'],
  protocol: ['config', 'base'],
  media: ['protocol', 'config', 'base'],
  telephony: ['media', 'protocol', 'config', 'base'],
  runtime: ['telephony', 'media', 'protocol', 'config', 'base'],
  'control-plane': ['telephony/carriers', 'telephony/(e164|sip-address|tenant-hosts)', 'media/speech', 'media/blobs', 'protocol', 'config', 'base'],
  processes: ['control-plane', 'runtime', 'telephony', 'media', 'protocol', 'config', 'base'],
  // A caller of its own for the doctor, benchmarks and tests: it shares codecs and formats with the product,
  // nothing that decides.
  caller: ['telephony', 'media', 'protocol', 'config', 'base'],
  // The command line: the API over HTTP; of the program only what reads settings, locks, blobs and the keys
  // of a backup, the engines and relays the doctor tries out, and the turn machine calls are replayed on.
  cli: ['caller', 'media/speech', 'media/blobs', 'runtime/replay/', 'runtime/turn/(loop/flight-log|machine/turn-config).ts', 'telephony/relay/ng-client.ts', 'control-plane/operations/backup/withheld-keys.ts', 'control-plane/platform/secrets/secret-box.ts', 'protocol', 'config', 'base'],
};
// The rooms of a folder, lowest first: a room imports those before it only. Files beside the rooms compose
// them; of the turn machine only the machine itself does, and the rooms share the others.
const composers = { 'runtime/turn/machine': 'turn-machine' };
const rooms = {
  'control-plane': ['platform', 'accounts', 'catalogue', 'calls', 'speech', 'jobs', 'operations'],
  'control-plane/calls': ['outbox', 'plans', 'workers', 'sessions', 'recordings', 'livekit', 'webhooks', 'outbound', 'admission', 'settlement'],
  media: ['blobs', 'dsp', 'speech', 'voice-activity', 'leg', 'rtp', 'webrtc', 'livekit', 'thread'],
  'runtime/turn/machine': ['floor', 'ending', 'answering', 'interruption', 'endpointing', 'playout', 'opening'],
  runtime: ['event-loop', 'link', 'llm', 'tools', 'knowledge', 'turn/text', 'prompt', 'turn/machine', 'turn/loop', 'calls', 'replay', 'analysis', 'agent-tests', 'worker'],
};
const roomRules = Object.entries(rooms).flatMap(([folder, inOrder]) =>
  inOrder.map((room, floor) => ({
    name: `${folder.replaceAll('/', '-')}-${room.replace('/', '-')}-imports-lower-rooms-only`,
    severity: 'error',
    from: { path: `^${folder}/${room}/` },
    to: { path: [`^${folder}/${composers[folder] ?? '[^/]+'}\\.ts$`, ...inOrder.slice(floor + 1).map((higher) => `^${folder}/${higher}/`)] },
  })),
);
const layers = Object.keys(mayImport);
const only = (name, library, home) => ({ name, severity: 'error', from: { pathNot: `^(${home}|test/|bench/|scripts/)` }, to: { path: `node_modules/${library}/` } });
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    // eSpeak NG is there only where somebody installed it.
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true, pathNot: '^@echogarden/espeak-ng-emscripten$' } },
    // It is under the GPL: its program runs by itself, and nobody imports that program either.
    { name: 'espeak-stays-in-its-program', severity: 'error', from: { pathNot: '^media/speech/espeak/' }, to: { path: 'espeak-ng-emscripten|^media/speech/espeak/' } },
    ...layers.map((layer) => ({
      name: `${layer}-imports-downwards`,
      severity: 'error',
      from: { path: within(layer) },
      to: { path: within(...layers, 'test', 'bench', 'scripts'), pathNot: `^(${[`${layer}/`, ...mayImport[layer]].join('|')})` },
    })),
    ...roomRules,
    { name: 'web-imports-only-base-config-and-protocol', severity: 'error', from: { path: '^web/' }, to: { path: within('media', 'telephony', 'runtime', 'control-plane', 'processes', 'caller', 'cli', 'scripts', 'test', 'bench') } },
    only('mongoose-stays-in-store', 'mongoose', 'control-plane/platform/store/'),
    only('ioredis-stays-in-shared-store', 'ioredis', 'control-plane/platform/store/shared.ts'),
    only('drachtio-srf-stays-in-drachtio', 'drachtio-srf', 'telephony/drachtio/'),
    only('twilio-stays-in-its-carrier', 'twilio', 'telephony/carriers/twilio(-callbacks)?.ts'),
    only('wrtc-stays-in-webrtc-leg', '@roamhq/wrtc', 'media/webrtc/webrtc-leg.ts'),
    only('rtc-node-stays-in-media-livekit', '@livekit/rtc-node', 'media/livekit/.*|caller/room-caller.ts'),
    only('opentelemetry-stays-in-tracing', '@opentelemetry', 'config/tracing.ts'),
    only('livekit-server-sdk-stays-in-rooms', 'livekit-server-sdk', 'control-plane/platform/rooms.ts'),
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
