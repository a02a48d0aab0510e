import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const text = readFileSync(join(import.meta.dirname, '../../docker-compose.yml'), 'utf8');

describe('the compose file', () => {
  it.each(['ROOT_API_KEY', 'WORKER_TOKEN', 'LIVEKIT_API_SECRET', 'DRACHTIO_SECRET'])(
    'security 17: starts nothing unless %s is set',
    (name) => {
      const uses = [...text.matchAll(new RegExp(`\\$\\{${name}(?<otherwise>[^}]*)\\}`, 'g'))].map(
        (match) => match.groups?.['otherwise'],
      );
      expect(uses.length).toBeGreaterThan(0);
      expect(uses.filter((otherwise) => !otherwise?.startsWith(':?'))).toEqual([]);
    },
  );

  it('security 17: pins a version of every image it does not build', () => {
    const { services } = parse(text, { merge: true }) as {
      services: Record<string, { image: string; build?: unknown }>;
    };
    const images = Object.values(services).flatMap(({ image, build }) =>
      build === undefined ? [image] : [],
    );
    expect(images.length).toBeGreaterThan(0);
    expect(images.filter((image) => !/:v?\d/.test(image))).toEqual([]);
  });
});
