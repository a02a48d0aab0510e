import { describe, expect, it } from 'vitest';
import { answerChallenge, readChallenges } from '#telephony/digest-challenge.ts';

const www = (...values: string[]) => ({
  status: 401,
  headers: values.map((value) => ({ name: 'WWW-Authenticate', value })),
});
/** RFC 7616 §3.9.1. */
const MUFASA = { username: 'Mufasa', password: 'Circle of Life' };
const PLACE = { method: 'GET', uri: '/dir/index.html' };
const CNONCE = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ';
const OFFER =
  'realm="http-auth@example.org", qop="auth, auth-int", ' +
  'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", ' +
  'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"';
const responseOf = (answer: string) => /response="([^"]*)"/.exec(answer)?.[1];

describe('an answer to a digest challenge', () => {
  it.each([
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ])('is that of the example of RFC 7616 with %s', (algorithm, expected) => {
    const [challenge] = readChallenges(www(`Digest ${OFFER}, algorithm=${algorithm}`));
    const answer = answerChallenge(challenge!, PLACE, MUFASA, { cnonce: CNONCE, uses: 1 });
    expect(responseOf(answer)).toBe(expected);
    expect(answer).toContain('nc=00000001');
    expect(answer).toContain('opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"');
  });

  it('without qop is that of RFC 2069, which has neither nc nor cnonce', () => {
    const [challenge] = readChallenges(www('Digest realm="pbx", nonce="1"'));
    const answer = answerChallenge(challenge!, PLACE, MUFASA, { cnonce: CNONCE, uses: 1 });
    expect(answer).not.toMatch(/\b(nc|cnonce|qop)=/);
  });

  it('hashes the body if only auth-int is offered, and the session key for MD5-sess', () => {
    const [integrity] = readChallenges(www('Digest realm="pbx", nonce="1", qop="auth-int"'));
    const [session] = readChallenges(www('Digest realm="pbx", nonce="1", qop="auth", algorithm=MD5-sess'));
    expect([integrity?.qop, session?.isSession]).toEqual(['auth-int', true]);
    const responses = [integrity!, session!].map((challenge) =>
      responseOf(answerChallenge(challenge, PLACE, MUFASA, { cnonce: 'c', uses: 1 })),
    );
    const [plain] = readChallenges(www('Digest realm="pbx", nonce="1", qop="auth"'));
    const usual = responseOf(answerChallenge(plain!, PLACE, MUFASA, { cnonce: 'c', uses: 1 }));
    expect(new Set([...responses, usual]).size).toBe(3);
  });

  it('quotes a username that contains quotes', () => {
    const [challenge] = readChallenges(www('Digest realm="pbx", nonce="1"'));
    const account = { username: 'a"b\\c', password: 'x' };
    expect(answerChallenge(challenge!, PLACE, account, { cnonce: 'c', uses: 1 })).toContain(
      'username="a\\"b\\\\c"',
    );
  });
});

describe('the challenges of a response', () => {
  it('come in the order of the server, without those that cannot be answered', () => {
    const challenges = readChallenges(
      www(
        'Digest realm="a", nonce="1", algorithm=SHA-999',
        'Digest realm="a", nonce="2", algorithm=SHA-256, qop="auth"',
        'Digest realm="a", nonce="3", algorithm=MD5, qop="auth"',
        'NTLM realm="a"',
        'Digest realm="a", nonce="4", qop="token"',
      ),
    );
    expect(challenges.map(({ nonce, hash }) => [nonce, hash])).toEqual([
      ['2', 'SHA-256'],
      ['3', 'MD5'],
    ]);
  });

  it('may stand in one header, and a comma inside quotes separates none', () => {
    const challenges = readChallenges(
      www('Digest realm="a, b", nonce="1", stale=TRUE, Digest realm="c", nonce="2", algorithm=md5'),
    );
    expect(challenges).toMatchObject([
      { realm: 'a, b', nonce: '1', isStale: true },
      { realm: 'c', nonce: '2', isStale: false },
    ]);
  });

  it('of a 407 are answered in Proxy-Authorization', () => {
    const headers = [{ name: 'Proxy-Authenticate', value: 'Digest realm="a", nonce="1"' }];
    expect(readChallenges({ status: 407, headers })).toMatchObject([{ answerIn: 'Proxy-Authorization' }]);
  });

  it.each([
    [401, 'Authorization'],
    [407, 'Proxy-Authorization'],
  ])('of a %i begin with its own kind', (status, answerIn) => {
    const headers = ['Proxy-Authenticate', 'WWW-Authenticate'].map((name) => ({
      name,
      value: 'Digest realm="a", nonce="1"',
    }));
    expect(readChallenges({ status, headers })[0]).toMatchObject({ answerIn });
  });

  it('may have empty places between their fields, and fields with a hyphen', () => {
    expect(readChallenges(www('Digest realm="a",, x-y=1, nonce="1",'))).toMatchObject([{ nonce: '1' }]);
  });

  it('with a line end in a text are not answered', () => {
    expect(readChallenges(www('Digest realm="a", nonce="1\rVia: x"'))).toEqual([]);
  });
});
