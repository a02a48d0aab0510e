import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSealer, SealBroken } from '#base/sealer.ts';
import { createDataKeys, createSecretBox } from '#control-plane/platform/secrets/secret-box.ts';

const master = randomBytes(32);

describe('sealed data', () => {
  it('opens to the original, and is different on every sealing', () => {
    const box = createSecretBox(master);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const [one, other] = [box.seal(text), box.seal(text)];
        return one !== other && box.open(one) === text && box.open(other) === text;
      }),
    );
  });

  it('does not open with a changed byte, under another key, or for another purpose', () => {
    const box = createSecretBox(master);
    const sealed = Buffer.from(box.seal('secret'), 'base64url');
    for (let index = 0; index < sealed.length; index++) {
      const altered = Buffer.from(sealed);
      altered[index] = (altered[index] ?? 0) ^ 1;
      expect(() => box.open(altered.toString('base64url'))).toThrow(SealBroken);
    }
    expect(() => createSecretBox(randomBytes(32)).open(sealed.toString('base64url'))).toThrow(SealBroken);
    expect(() => box.open('')).toThrow(SealBroken);
    expect(() => box.open(box.seal('x', 'test-call'))).toThrow(SealBroken);
    expect(() => box.open(box.seal('x'), 'test-call')).toThrow(SealBroken);
    const { sealer } = createDataKeys(master).create('s');
    expect(() => sealer.open(sealer.seal('x', 'items'), 'plan')).toThrow(SealBroken);
  });

  it('a wrapped session key opens for its own session only', () => {
    const keys = createDataKeys(master);
    const { sealer, wrappedKey } = keys.create('one');
    const sealed = sealer.seal('hello', 'items');
    expect(keys.open('one', wrappedKey).open(sealed, 'items').toString()).toBe('hello');
    expect(() => keys.open('two', wrappedKey)).toThrow(SealBroken);
    expect(() => keys.open('one', keys.create('one').wrappedKey).open(sealed, 'items')).toThrow(SealBroken);
  });

  it('a key derived for one object opens this object only', () => {
    const { sealer } = createDataKeys(master).create('s');
    const [one, other] = [createSealer(sealer.derive('one')), createSealer(sealer.derive('other'))];
    const sealed = one.seal('hello', 'one');
    expect(createSealer(sealer.derive('one')).open(sealed, 'one').toString()).toBe('hello');
    for (const wrong of [other, sealer]) expect(() => wrong.open(sealed, 'one')).toThrow(SealBroken);
    expect(() => one.open(sealer.seal('x', 'one'), 'one')).toThrow(SealBroken);
  });
});
