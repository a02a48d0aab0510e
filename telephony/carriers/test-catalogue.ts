/**
 * The carrier of a deployment without one: a hundred thousand test numbers that no telephone network reaches,
 * only the product's own SIP port.
 */
import { fault } from '#config/errors.ts';
import type { AvailableNumber, Carrier, NumberSearch } from './carrier.ts';

const FIRST = 15_550_100_000;
const LAST = 15_550_199_999;
const AREA_CODE = '555';

/** First number of the catalogue, answered by the demo agent. */
export const DEMO_NUMBER = `+${FIRST}`;

/** Creates the catalogue. */
export function createTestCatalogue(): Carrier {
  return {
    name: 'Test catalogue',
    lostCalls: null,
    messages: null,
    search: async (query) => (matches(query) ? offers(query) : []),
    buy: async (phoneNumber) => {
      if (!isTestNumber(phoneNumber))
        throw fault('provider_refused', { provider: 'Test catalogue', detail: 'the number is not on offer' });
      return { carrierNumberId: phoneNumber };
    },
    // The catalogue sells nothing, so an interrupted purchase never happened.
    findBought: async () => null,
    release: async () => {},
  };
}

function matches({ countryCode, areaCode }: NumberSearch): boolean {
  return countryCode === 'US' && (areaCode === undefined || areaCode === AREA_CODE);
}

function offers({ exclude, limit }: NumberSearch): AvailableNumber[] {
  const found: AvailableNumber[] = [];
  for (let number = FIRST; number <= LAST && found.length < limit; number++) {
    const phoneNumber = `+${number}`;
    if (!exclude.has(phoneNumber))
      found.push({
        phoneNumber,
        countryCode: 'US',
        region: 'Test',
        locality: 'Test number (no telephone network)',
      });
  }
  return found;
}

function isTestNumber(phoneNumber: string): boolean {
  const number = Number(phoneNumber);
  return /^\+\d{11}$/.test(phoneNumber) && number >= FIRST && number <= LAST;
}
