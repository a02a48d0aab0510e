/** Rules of `custom_speech`: each part that a patch sets has an address that may be reached, and a key. */
import { type CustomSpeech, httpAddress } from '#config/custom-speech.ts';
import type { Context } from '../../platform/context.ts';
import { type DraftChange, type Problem, urlProblems } from './draft-problem.ts';

/** The problems of the parts that the patch sets. */
export async function customSpeechProblems(
  context: Pick<Context, 'egress'>,
  { patch, before, after }: DraftChange,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const part of ['asr', 'tts'] as const) {
    const sent = patch.custom_speech?.[part];
    const set = after.custom_speech?.[part];
    if (!sent || !set) continue;
    const loc = ['custom_speech', part];
    if (!before.custom_speech?.[part] && !sent.api_key && sent.has_secret === undefined)
      problems.push({ loc: [...loc, 'api_key'], text: 'is required' });
    problems.push(...(await addressProblems(context, schemeOf(part, set), set, [...loc, 'url'])));
  }
  return problems;
}

/** The scheme of an address: jambonz' recognition runs over a WebSocket, and its voices may. */
function schemeOf(
  part: keyof CustomSpeech,
  { protocol, url }: { readonly protocol: string; readonly url: string },
): 'ws' | 'http' {
  const isSocket = part === 'asr' || /^wss?:/i.test(url);
  return protocol === 'jambonz' && isSocket ? 'ws' : 'http';
}

async function addressProblems(
  context: Pick<Context, 'egress'>,
  scheme: 'ws' | 'http',
  { protocol, url: text }: NonNullable<CustomSpeech['asr'] | CustomSpeech['tts']>,
  loc: Problem['loc'],
): Promise<Problem[]> {
  if (text === '') return [{ loc, text: 'is required' }];
  const isScheme = text.toLowerCase().startsWith(`${scheme}:`);
  if (!isScheme && !text.toLowerCase().startsWith(`${scheme}s:`))
    return [{ loc, text: `must be ${scheme}s://…` }];
  const address = httpAddress(text);
  const problems = await urlProblems(context, address, loc);
  if (problems.length > 0) return problems;
  const url = new URL(address);
  if (url.hash !== '') return [{ loc, text: 'must have no fragment' }];
  if (protocol === 'openai' && url.search !== '') return [{ loc, text: 'must have no query' }];
  return !isScheme || (await context.egress.allowsPlainHttp(address))
    ? []
    : [{ loc, text: `must be ${scheme}s` }];
}
