// Import rules. The folders form a chain: base ← config ← protocol ← media ← telephony ← runtime. The control
// plane stands beside media, telephony and runtime. Only processes composes all of them, and only main.ts
// imports processes.
const roomOrder = require('./scripts/room-order.json');

const within = (...folders) => `^(${folders.join('|')})/`;

/** The folders (or patterns of files) that a folder may import, besides itself. */
const mayImport = {
  base: [],
  config: ['base'],
  protocol: ['config', 'base'],
  media: ['protocol', 'config', 'base'],
  telephony: ['media', 'protocol', 'config', 'base'],
  runtime: ['telephony', 'media', 'protocol', 'config', 'base'],
  'control-plane': [
    'telephony/carriers',
    'telephony/(e164|sip-address|tenant-hosts|next-hops|registration/)',
    'media/speech',
    'media/blobs',
    'protocol',
    'config',
    'base',
  ],
  processes: ['control-plane', 'runtime', 'telephony', 'media', 'protocol', 'config', 'base'],
  // The test caller of the doctor, the benchmarks and the tests. It shares codecs and formats with the
  // product, but none of its decisions.
  caller: ['telephony', 'media', 'protocol', 'config', 'base'],
  // The command line uses the API over HTTP. Of the program itself it imports only the settings, the lock of
  // DATA_DIR, blobs, the keys of a backup, the engines, relays, rooms and model servers that the doctor
  // checks, and the turn machine that replays calls.
  cli: [
    'caller',
    'media/speech',
    'media/blobs',
    'runtime/llm/local/(find-models|local-addresses).ts',
    'runtime/replay/',
    'runtime/turn/(loop/flight-log|machine/turn-config).ts',
    'telephony/relay/ng-client.ts',
    'control-plane/operations/backup/withheld-keys.ts',
    'control-plane/platform/secrets/secret-box.ts',
    'control-plane/platform/load-rooms.ts',
    'protocol',
    'config',
    'base',
  ],
};
const layers = Object.keys(mayImport);

const layerRules = layers.map((layer) => ({
  name: `${layer}-imports-downwards`,
  severity: 'error',
  from: { path: within(layer) },
  to: {
    path: within(...layers, 'test', 'bench', 'scripts', 'libraries'),
    pathNot: `^(${[`${layer}/`, ...mayImport[layer]].join('|')})`,
  },
}));

/**
 * A room imports only lower rooms of its folder, and not the files that compose the rooms: all files directly
 * in the folder, or only its `composer`, if the rooms share the others.
 */
const roomRules = Object.entries(roomOrder).flatMap(([folder, { rooms, composer }]) =>
  rooms.map((room, index) => ({
    name: `${folder.replaceAll('/', '-')}-${room.replace('/', '-')}-imports-lower-rooms-only`,
    severity: 'error',
    from: { path: `^${folder}/${room}/` },
    to: {
      path: [
        `^${folder}/${composer ?? '[^/]+\\.ts'}$`,
        ...rooms.slice(index + 1).map((higher) => `^${folder}/${higher}/`),
      ],
    },
  })),
);

/** Only files under `home` may import this library. */
const only = (name, library, home) => ({
  name,
  severity: 'error',
  from: { pathNot: `^(${home}|test/|bench/|scripts/)` },
  to: { path: `node_modules/${library}/` },
});

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    // The eSpeak NG package is optional and may not be installed.
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^@echogarden/espeak-ng-emscripten$' },
    },
    // eSpeak NG is under the GPL, so it runs as a separate program that no other file imports.
    {
      name: 'espeak-stays-in-its-program',
      severity: 'error',
      from: { pathNot: '^media/speech/espeak/' },
      to: { path: 'espeak-ng-emscripten|^media/speech/espeak/' },
    },
    // See base/node-http.ts.
    {
      name: 'http-is-not-imported',
      severity: 'error',
      from: {
        path: within(...layers.filter((layer) => layer !== 'caller' && layer !== 'cli')),
        pathNot: '^base/node-http.ts$',
      },
      to: { path: '^(node:)?http$', dependencyTypesNot: ['type-only'] },
    },
    ...layerRules,
    ...roomRules,
    {
      name: 'web-imports-only-base-config-and-protocol',
      severity: 'error',
      from: { path: '^web/', pathNot: '^web/call-file/' },
      to: {
        path: within(
          'media',
          'telephony',
          'runtime',
          'control-plane',
          'processes',
          'caller',
          'cli',
          'scripts',
          'test',
          'bench',
        ),
      },
    },
    // The page of exported calls contains the turn machine, to run it again.
    {
      name: 'call-file-imports-only-the-turn-machine-too',
      severity: 'error',
      from: { path: '^web/call-file/' },
      to: {
        path: within(...layers, 'scripts', 'test', 'bench'),
        pathNot:
          '^(base|config|protocol|runtime/replay|runtime/turn/machine)/|^runtime/turn/loop/flight-log.ts$',
      },
    },
    // They are installed without the product.
    {
      name: 'libraries-import-nothing-of-the-product',
      severity: 'error',
      from: { path: '^libraries/' },
      to: { path: within(...layers, 'web', 'test', 'bench', 'scripts', 'node_modules') },
    },
    only('undici-stays-in-its-file', 'undici', 'base/undici.ts'),
    only('mongoose-stays-in-store', 'mongoose', 'control-plane/platform/store/'),
    only('ioredis-stays-in-shared-store', 'ioredis', 'control-plane/platform/store/shared.ts'),
    only('drachtio-srf-stays-in-drachtio', 'drachtio-srf', 'telephony/drachtio/'),
    only(
      'twilio-stays-in-its-carrier',
      'twilio',
      'telephony/carriers/twilio-(callbacks|client|messages|signature|voice).ts',
    ),
    only('jose-stays-in-carriers', 'jose', 'telephony/carriers/vonage-voice.ts'),
    only('wrtc-stays-in-webrtc-leg', '@roamhq/wrtc', 'media/webrtc/webrtc-leg.ts'),
    only('rtc-node-stays-in-media-livekit', '@livekit/rtc-node', 'media/livekit/.*|caller/room-caller.ts'),
    only('opentelemetry-stays-in-tracing', '@opentelemetry', 'config/tracing.ts'),
    only('mcp-client-stays-in-place', '@modelcontextprotocol/client', 'protocol/mcp-(connection|tokens).ts'),
    only('livekit-server-sdk-stays-in-rooms', 'livekit-server-sdk', 'control-plane/platform/open-rooms.ts'),
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
