/** The attributes of `<voice-agent>` and the texts it shows. */
import { describe, expect, it } from 'vitest';
import { SPEAKING_LANGUAGES } from '#config/languages.ts';
import { LANGUAGES } from '../../web/widget/languages.ts';
import { readSettings } from '../../web/widget/settings.ts';
import { textsIn } from '../../web/widget/texts.ts';

const PAGE = 'https://luigis.example.com/menu';

function read(attributes: Readonly<Record<string, string>>) {
  const warnings: string[] = [];
  const settings = readSettings(
    (name) => attributes[name] ?? null,
    PAGE,
    (message) => warnings.push(message),
  );
  return { settings, warnings };
}

describe('the widget’s attributes', () => {
  it('default to transcript, typing and muting on, terms off, bottom right, invitation after 3 s', () => {
    const { settings, warnings } = read({});
    expect(settings).toMatchObject({
      hasTranscript: true,
      hasTextInput: true,
      hasMuting: true,
      consent: null,
      position: 'bottom-right',
      proactiveDelayMs: 3_000,
    });
    expect(warnings).toEqual([]);
  });

  it('switch features off with "false" and request consent with "true"', () => {
    const { settings } = read({
      transcript: 'false',
      'text-input': 'false',
      'mic-muting': 'false',
      consent: 'true',
      'terms-url': '/terms',
      'proactive-delay': '0.5',
    });
    expect(settings).toMatchObject({
      hasTranscript: false,
      hasTextInput: false,
      hasMuting: false,
      proactiveDelayMs: 500,
    });
    expect(settings.consent).toEqual({
      text: null,
      termsUrl: 'https://luigis.example.com/terms',
      privacyUrl: null,
      key: 'voice-agent-consent',
    });
  });

  it('are ignored when invalid, with a message to the developer', () => {
    const { settings, warnings } = read({
      position: 'middle',
      'proactive-delay': 'soon',
      'dynamic-variables': '{"guest": "Ada", "party": 4, "table": null}',
      'text-contents': '["Call"]',
      'server-url': 'javascript:alert(1)',
    });
    expect(settings).toMatchObject({
      position: 'bottom-right',
      proactiveDelayMs: 3_000,
      dynamicVariables: { guest: 'Ada', party: 4 },
      textContents: {},
      serverUrl: null,
    });
    expect(warnings).toEqual([
      'position must be one of bottom-right, bottom-left, top-right, top-left',
      'proactive-delay must be a number of seconds',
      'dynamic-variables: the value of "table" is not supported',
      'server-url must be an http or https address',
      'text-contents must be a JSON object',
    ]);
  });
});

describe('the widget’s texts', () => {
  it('exist for at least ten of the agents’ languages, none of them left in English', () => {
    const spoken = Object.entries(LANGUAGES).filter(([code]) =>
      SPEAKING_LANGUAGES.some((language) => language === code),
    );
    expect(spoken.length).toBeGreaterThanOrEqual(10);
    for (const [code, texts] of spoken) {
      expect(texts.open, code).toContain('{name}');
      if (code !== 'en') expect(texts.microphoneBlocked, code).not.toBe(LANGUAGES['en']?.microphoneBlocked);
    }
  });

  it('follow the language of the region, default to English, run right to left, and can be overridden', () => {
    expect(textsIn('pt-BR', {}).texts.start).toBe('Iniciar chamada');
    expect(textsIn('xx', {})).toMatchObject({ language: 'en', direction: 'ltr' });
    expect(textsIn('ar', {}).direction).toBe('rtl');
    expect(textsIn('de', { start: 'Tisch bestellen' }).texts).toMatchObject({
      start: 'Tisch bestellen',
      end: 'Auflegen',
    });
  });
});
