/** The attributes of `<voice-agent>`. Invalid values are reported on the browser console and ignored. */

const POSITIONS = ['bottom-right', 'bottom-left', 'top-right', 'top-left'] as const;
/** Position of the widget in the window. */
export type Position = (typeof POSITIONS)[number];

const PROACTIVE_DELAY_SECONDS = 3;
const CONSENT_KEY = 'voice-agent-consent';

/** Attributes that the element observes. */
export const ATTRIBUTES = [
  'agent-id',
  'agent-name',
  'greeting',
  'proactive-message',
  'proactive-delay',
  'transcript',
  'text-input',
  'mic-muting',
  'consent',
  'consent-text',
  'terms-url',
  'privacy-url',
  'consent-key',
  'position',
  'language',
  'dynamic-variables',
  'user-id',
  'server-url',
  'text-contents',
] as const;
type Attribute = (typeof ATTRIBUTES)[number];

/** The parsed attributes. */
export interface Settings {
  readonly agentId: string | null;
  readonly agentName: string | null;
  readonly greeting: string | null;
  readonly proactiveMessage: string | null;
  readonly proactiveDelayMs: number;
  readonly hasTranscript: boolean;
  readonly hasTextInput: boolean;
  readonly hasMuting: boolean;
  /** Null: no terms are shown. */
  readonly consent: {
    readonly text: string | null;
    readonly termsUrl: string | null;
    readonly privacyUrl: string | null;
    readonly key: string;
  } | null;
  readonly position: Position;
  /** Null: the texts use the page's language, the conversation uses the agent's. */
  readonly language: string | null;
  readonly dynamicVariables: Record<string, string | number | boolean>;
  readonly userId: string | null;
  readonly serverUrl: string | null;
  readonly textContents: Readonly<Record<string, string>>;
}

/** Parses the attributes. Addresses may be relative to `base`; `warn` is called for invalid values. */
export function readSettings(
  attribute: (name: Attribute) => string | null,
  base: string,
  warn: (message: string) => void,
): Settings {
  const address = (name: Attribute) => webAddress(name, attribute(name), base, warn);
  const isOn = (name: Attribute) => attribute(name) !== 'false';
  const oneOf = (name: Attribute) =>
    POSITIONS.find((position) => position === (attribute(name) ?? POSITIONS[0]));
  const position = oneOf('position');
  if (!position) warn(`position must be one of ${POSITIONS.join(', ')}`);
  return {
    agentId: attribute('agent-id'),
    agentName: attribute('agent-name'),
    greeting: attribute('greeting'),
    proactiveMessage: attribute('proactive-message'),
    proactiveDelayMs: seconds(attribute('proactive-delay'), warn) * 1_000,
    hasTranscript: isOn('transcript'),
    hasTextInput: isOn('text-input'),
    hasMuting: isOn('mic-muting'),
    consent:
      attribute('consent') === 'true'
        ? {
            text: attribute('consent-text'),
            termsUrl: address('terms-url'),
            privacyUrl: address('privacy-url'),
            key: attribute('consent-key') ?? CONSENT_KEY,
          }
        : null,
    position: position ?? POSITIONS[0],
    language: attribute('language'),
    dynamicVariables: record('dynamic-variables', attribute('dynamic-variables'), isVariable, warn),
    userId: attribute('user-id'),
    serverUrl: address('server-url')?.replace(/\/$/, '') ?? null,
    textContents: record(
      'text-contents',
      attribute('text-contents'),
      (value) => typeof value === 'string',
      warn,
    ),
  };
}

function seconds(text: string | null, warn: (message: string) => void): number {
  const value = Number(text ?? PROACTIVE_DELAY_SECONDS);
  if (Number.isFinite(value) && value >= 0) return value;
  warn('proactive-delay must be a number of seconds');
  return PROACTIVE_DELAY_SECONDS;
}

/** An http or https address, possibly relative; never `javascript:` or similar. */
function webAddress(
  name: Attribute,
  text: string | null,
  base: string,
  warn: (message: string) => void,
): string | null {
  if (text === null) return null;
  const url = URL.parse(text, base);
  if (url && (url.protocol === 'https:' || url.protocol === 'http:')) return url.href;
  warn(`${name} must be an http or https address`);
  return null;
}

function isVariable(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function record<Value>(
  name: Attribute,
  text: string | null,
  isValue: (value: unknown) => value is Value,
  warn: (message: string) => void,
): Record<string, Value> {
  if (text === null) return {};
  const parsed = parse(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    warn(`${name} must be a JSON object`);
    return {};
  }
  return Object.fromEntries(
    Object.entries(parsed).filter((entry): entry is [string, Value] => {
      const isUsable = isValue(entry[1]);
      if (!isUsable) warn(`${name}: the value of "${entry[0]}" is not supported`);
      return isUsable;
    }),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
