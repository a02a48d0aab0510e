import { randomBytes } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { type KeySources, openDeploymentKey } from '#control-plane/platform/store/deployment-key.ts';
import { onEveryDatabase } from './on-every-database.ts';

const [OLD, NEW] = ['old', 'new'].map((name) => Buffer.alloc(32, name).toString('base64')) as [
  string,
  string,
];

onEveryDatabase('the deployment key', (database) => {
  const connection = () => database().connection;
  const stored = () => connection().collection('deployment_keys');
  const open = (sources: Partial<KeySources> = {}) =>
    openDeploymentKey(connection(), {
      masterKey: undefined,
      oldKeys: [],
      fileKey: null,
      derivedKey: null,
      opensData: async () => null,
      isNew: async () => true,
      ...sources,
    });

  beforeEach(() => stored().deleteMany({}));

  it('without a master key, is the one of the credentials file and nothing is stored', async () => {
    const known = randomBytes(32);
    expect(await open({ fileKey: known })).toEqual(known);
    expect(await stored().countDocuments()).toBe(0);
  });

  it('with a master key, is generated once and stored only encrypted', async () => {
    const key = await open({ masterKey: OLD });
    expect(key).toHaveLength(32);
    expect(await open({ masterKey: OLD })).toEqual(key);
    const text = JSON.stringify(await stored().findOne({}));
    for (const plain of [OLD, key.toString('hex'), key.toString('base64')]) expect(text).not.toContain(plain);
  });

  it('is kept when a deployment gets its first master key', async () => {
    const known = randomBytes(32);
    expect(await open({ masterKey: OLD, fileKey: known })).toEqual(known);
    expect(await open({ masterKey: OLD })).toEqual(known);
  });

  it('of a deployment without a kept disk is derived from the operator’s key, if that opens its data', async () => {
    const [derivedKey, other] = [randomBytes(32), randomBytes(32)];
    const opensData = async (key: Buffer) => key.equals(derivedKey);
    await expect(open({ masterKey: OLD, derivedKey: other, opensData })).rejects.toThrow(
      'an earlier ROOT_API_KEY',
    );
    await expect(open({ masterKey: OLD, opensData })).rejects.toThrow('an earlier ROOT_API_KEY');
    expect(await open({ masterKey: OLD, fileKey: other, derivedKey, opensData })).toEqual(derivedKey);
  });

  it('of a new deployment does not depend on the operator’s key; that of one without sessions may', async () => {
    const derivedKey = randomBytes(32);
    expect(await open({ masterKey: OLD, derivedKey })).not.toEqual(derivedKey);
    await stored().deleteMany({});
    expect(await open({ masterKey: OLD, derivedKey, isNew: async () => false })).toEqual(derivedKey);
  });

  it('a master key is the same in either form of base64', async () => {
    const key = await open({ masterKey: OLD });
    expect(await open({ masterKey: OLD.replace(/=$/, '') })).toEqual(key);
    expect((await stored().findOne({}))?.['wrapped']).toHaveLength(1);
  });

  it('a replacement that was given up opens it until the next one', async () => {
    const key = await open({ masterKey: OLD });
    await open({ masterKey: NEW, oldKeys: [OLD] });
    await open({ masterKey: OLD });
    const third = Buffer.alloc(32, 'third').toString('base64');
    expect(await open({ masterKey: third, oldKeys: [OLD] })).toEqual(key);
    await expect(open({ masterKey: NEW })).rejects.toThrow(/^MASTER_KEY: does not open/);
  });

  it('stays the same when the master key is replaced, and both open it meanwhile', async () => {
    const key = await open({ masterKey: OLD });
    expect(await open({ masterKey: NEW, oldKeys: [OLD] })).toEqual(key);
    // A replica that has the old settings yet.
    expect(await open({ masterKey: OLD })).toEqual(key);
    expect(await open({ masterKey: NEW })).toEqual(key);
    await expect(open({ masterKey: OLD })).rejects.toThrow(/^MASTER_KEY: does not open/);
  });

  it('is refused with a wrong master key, and nothing changes', async () => {
    const key = await open({ masterKey: OLD });
    await expect(open({ masterKey: NEW, fileKey: randomBytes(32) })).rejects.toThrow('MASTER_KEY_OLD');
    expect(await open({ masterKey: OLD })).toEqual(key);
  });

  it('needs its master key: another key, such as one derived from the root key, is not taken for it', async () => {
    const key = await open({ masterKey: OLD });
    await expect(open({ derivedKey: randomBytes(32) })).rejects.toThrow(/^MASTER_KEY: .*set it again/);
    await expect(open()).rejects.toThrow(/^MASTER_KEY: .*set it again/);
    // A restored backup has it in its credentials file, and may get a master key of its own.
    expect(await open({ fileKey: key })).toEqual(key);
    expect(await open({ masterKey: NEW, fileKey: key })).toEqual(key);
  });

  it('is one key for replicas that start for the first time together', async () => {
    const keys = await Promise.all(Array.from({ length: 5 }, () => open({ masterKey: OLD })));
    expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1);
  });
});
