import { describe, expect, it } from 'vitest';
import { readSettings } from '#config/env.ts';
import { WITHHELD_SETTINGS } from '#processes/withheld-settings.ts';
import { type ComposeFile, readComposeFile } from './compose-file.ts';

const DOTENV = {
  ROOT_API_KEY: 'a-root-key-of-this-test',
  MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  WORKER_TOKEN: 'a-token-of-the-workers',
  DRACHTIO_SECRET: 'a-secret-of-signalling',
  LIVEKIT_API_SECRET: 'a-secret-of-the-rooms-that-is-long-enough',
};
const environmentOf = ({ services }: ComposeFile, name: string) => services[name]?.environment ?? {};

describe('the compose file', () => {
  it.each(Object.keys(DOTENV))('security 17: starts nothing unless %s is set', (name) => {
    expect(() => readComposeFile({ ...DOTENV, [name]: '' })).toThrow(`set ${name} in the file .env`);
  });

  it('security 17: pins a version of every image it does not build', () => {
    const images = Object.values(readComposeFile(DOTENV).services).flatMap(({ image, build }) =>
      build === undefined ? [image] : [],
    );
    expect(images.length).toBeGreaterThan(0);
    expect(images.filter((image) => !/:v?\d/.test(image))).toEqual([]);
  });

  it('starts every container again after a reboot', () => {
    const { services } = readComposeFile(DOTENV);
    expect(Object.values(services).map(({ restart }) => restart)).toEqual(
      Object.keys(services).map(() => 'unless-stopped'),
    );
  });

  it.each(['control-plane', 'worker'])('gives the %s settings that it knows and accepts', (name) => {
    const environment = environmentOf(readComposeFile({ ...DOTENV, PUBLIC_IP: '203.0.113.7' }), name);
    const settings = readSettings(environment);
    const unknown = Object.keys(environment).filter((key) => environment[key] !== '' && !(key in settings));
    expect(unknown).toEqual([]);
  });

  it('gives a public address to callers, browsers and the servers of both', () => {
    const file = readComposeFile({ ...DOTENV, PUBLIC_IP: '203.0.113.7' });
    expect(environmentOf(file, 'control-plane')['LIVEKIT_PUBLIC_URL']).toBe('ws://203.0.113.7:7880');
    expect(environmentOf(file, 'worker')).toMatchObject({ HOST: '0.0.0.0', SIP_PUBLIC_IP: '203.0.113.7' });
    expect(file.configs['drachtio']?.content).toContain('<contact external-ip="203.0.113.7">sip:*:5060');
    expect(file.configs['livekit']?.content).toContain('node_ip: "203.0.113.7"');
    expect(readComposeFile(DOTENV).configs['drachtio']?.content).toContain('<contact>sip:*:5060');
  });

  it('keeps the operator’s secrets from the worker', () => {
    const worker = environmentOf(readComposeFile(DOTENV), 'worker');
    // Also those of parley.env, which every part gets: the environment has precedence over it.
    expect(WITHHELD_SETTINGS.filter((name) => worker[name] !== '')).toEqual([]);
  });
});
