import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { sumAmounts } from '../../../src/cli/play/decimals.ts';
import type { ScenarioEvent } from '../../../src/cli/play/scenario-writer.ts';
import {
  SCENARIO_NAMES,
  type ScenarioName,
  scenarioLengthS,
  summarizeScenario,
  writeScenario,
} from '../../../src/cli/play/scenarios.ts';
import { sampleEvent, sampleRetraction } from '../../../src/contract/events/samples.ts';
import { postedEventSchema, retractionSchema } from '../../../src/contract/events.ts';
import { EVENT_KINDS, RETRACTION } from '../../../src/domain/event-kinds.ts';

const MAX_S = 4_000_000_000;
/** Only in events that were read from a network. */
const ON_CHAIN = ['blockNumber', 'blockHash', 'logIndex', 'contract', 'amountBase', 'finality', 'revision'];

const amounts = fc.tuple(fc.bigInt(1n, 10n ** 20n), fc.integer({ min: 0, max: 18 })).map(([units, decimals]) =>
  decimals === 0
    ? String(units)
    : `${units}.${String(units % 10n ** 18n)
        .padStart(18, '0')
        .slice(0, decimals)}`,
);

const storyTerms = fc.record({
  name: fc.constantFrom(...SCENARIO_NAMES),
  periods: fc.integer({ min: 1, max: 24 }),
  networkId: fc.constantFrom(1, 8453, 900, 901, 77),
  amount: amounts,
  startS: fc.integer({ min: 1_000_000_000, max: MAX_S }),
  seed: fc.integer({ min: 0, max: 255 }),
});

/** Each call gives other bytes, and the same seed the same ones again. */
function randomFrom(seed: number): (count: number) => Uint8Array {
  let calls = 0;
  return (count) => {
    calls++;
    return Uint8Array.from(
      { length: count },
      (_, index) => (seed + calls * 31 + index * 7 + (calls >> (index % 8))) % 256,
    );
  };
}

type Terms = typeof storyTerms extends fc.Arbitrary<infer Value> ? Value : never;

const storyOf = ({ name, periods, seed, ...terms }: Terms) =>
  writeScenario(name, { ...terms, random: randomFrom(seed) }, periods);

/** Holds a property of every story, whatever its terms. */
function everyStory(check: (events: readonly ScenarioEvent[], terms: Terms) => void): void {
  fc.assert(fc.property(storyTerms, (terms) => check(storyOf(terms), terms)));
}

const kindsOf = (events: readonly ScenarioEvent[]): string[] => events.map(({ event }) => event);

describe('every story', () => {
  test('is of one agreement, one network and one amount, with an id of its own for each event', () => {
    everyStory((events, { networkId, amount }) => {
      expect(new Set(events.map(({ agreementId }) => agreementId)).size).toBe(1);
      expect(new Set(events.map((event) => event.networkId))).toEqual(new Set([networkId]));
      const priced = events.filter((event) => event.event !== RETRACTION);
      expect(new Set(priced.map((event) => event.amount))).toEqual(new Set([amount]));
      expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(events.length);
    });
  });

  test('begins with the signature at its start, and each event comes after the one before it', () => {
    everyStory((events, { startS, name, periods }) => {
      expect([events[0]?.event, events[0]?.dateCreated]).toEqual(['AgreementSignedUp', startS]);
      for (let index = 1; index < events.length; index++) {
        expect(events[index]?.dateCreated).toBeGreaterThan(events[index - 1]?.dateCreated ?? 0);
      }
      expect(events.at(-1)?.dateCreated).toBe(startS + scenarioLengthS(name, periods));
    });
  });

  test('has payloads that the service takes, with exactly the fields of the samples', () => {
    const schema = postedEventSchema(EVENT_KINDS);
    everyStory((events, { networkId }) => {
      for (const event of events) {
        const { eventId, dateCreated } = event;
        const isRetraction = event.event === RETRACTION;
        expect((isRetraction ? retractionSchema : schema).safeParse(event).success).toBe(true);
        const sample: Record<string, unknown> = isRetraction
          ? sampleRetraction(networkId, eventId, '', dateCreated)
          : sampleEvent(event.event, networkId, eventId, dateCreated);
        const fields = Object.entries(event).filter(([field]) => !ON_CHAIN.includes(field) || field in sample);
        expect(fields.map(([field]) => field)).toEqual(Object.keys(sample));
        for (const [field, value] of fields) expect(typeof value).toBe(typeof sample[field]);
      }
    });
  });

  test('adds up: what is final is the amount times the periods that were paid', () => {
    everyStory((events, { amount, name, periods }) => {
      const { transfers, paid, amount: total } = summarizeScenario(events);
      expect(transfers).toBe(periods);
      expect(paid).toBe(name === 'failed-transfer' ? periods - 1 : periods);
      expect(total).toBe(sumAmounts(Array.from({ length: paid }, () => amount)));
    });
  });

  test('makes each transfer out before it is processed, and makes final only what was processed, in the same transaction', () => {
    everyStory((events) => {
      const seen = new Map<string, { kinds: string[]; hash: string | null }>();
      for (const event of events) {
        if (!('transferId' in event)) continue;
        const earlier = seen.get(event.transferId) ?? { kinds: [], hash: null };
        if (event.event === 'TransferCreated') expect(earlier.kinds).toEqual([]);
        else expect(earlier.kinds).toContain('TransferCreated');
        if (event.event === 'TransferFinalized') {
          expect(earlier.kinds.at(-1)).toBe('TransferProcessed');
          expect(event.transactionHash).toBe(earlier.hash ?? '');
          expect(event.confirmations).toBeGreaterThan(0);
        }
        const hash = event.event === 'TransferProcessed' ? event.transactionHash : earlier.hash;
        seen.set(event.transferId, { kinds: [...earlier.kinds, event.event], hash });
      }
    });
  });

  test('says truly how late a payment is', () => {
    everyStory((events) => {
      const due = new Map(
        events.flatMap((event) => (event.event === 'TransferCreated' ? [[event.transferId, event.dateDue]] : [])) as [
          string,
          number,
        ][],
      );
      for (const event of events) {
        if (event.event !== 'LatePayment') continue;
        expect(event.dateDue).toBe(due.get(event.transferId) ?? 0);
        expect(event.dateCreated).toBe(event.dateDue + event.daysLate * 86_400);
      }
    });
  });

  test('ends with the agreement where it ends at all', () => {
    everyStory((events) => {
      const end = kindsOf(events).indexOf('AgreementCancelled');
      if (end >= 0) expect(end).toBe(events.length - 1);
      const scheduled = events.find((event) => event.event === 'ScheduledAgreementCancel');
      if (scheduled?.event === 'ScheduledAgreementCancel') {
        expect(events.at(-1)).toMatchObject({ event: 'AgreementCancelled', dateCancelled: scheduled.dateEnds });
      }
    });
  });

  test('is the same when it is told again with the same randomness', () => {
    everyStory((events, terms) => expect(storyOf(terms)).toEqual([...events]));
  });
});

describe('the story', () => {
  const terms = { networkId: 8453, amount: '25.00', startS: 1_763_168_400, random: randomFrom(1) };
  const told = (name: ScenarioName) => kindsOf(writeScenario(name, terms, 2));
  const paid = ['TransferCreated', 'TransferProcessed', 'TransferFinalized'] as const;

  test.each([
    ['subscription', ['AgreementSignedUp', ...paid, ...paid]],
    [
      'late-payment',
      [
        'AgreementSignedUp',
        ...paid,
        'TransferCreated',
        'LatePayment',
        'LatePayment',
        'TransferProcessed',
        'TransferFinalized',
      ],
    ],
    ['cancelled', ['AgreementSignedUp', ...paid, ...paid, 'ScheduledAgreementCancel', 'AgreementCancelled']],
    [
      'failed-transfer',
      [
        'AgreementSignedUp',
        ...paid,
        'TransferCreated',
        'TransferProcessed',
        'LatePayment',
        'LatePayment',
        'LatePayment',
        'AgreementCancelled',
      ],
    ],
    [
      'reorg',
      [
        'AgreementSignedUp',
        ...paid,
        'TransferCreated',
        'TransferProcessed',
        'EventRetracted',
        'TransferProcessed',
        'TransferFinalized',
      ],
    ],
  ] as [ScenarioName, string[]][])('%s goes as its name says', (name, kinds) => {
    expect(told(name)).toEqual(kinds);
  });

  test('reorg takes the payment back, and brings the same transaction again in a later block, with the next revision', () => {
    const [processed, retracted, again, final] = writeScenario('reorg', { ...terms, amount: '9.5' }, 1).slice(-4);
    if (processed?.event !== 'TransferProcessed' || again?.event !== 'TransferProcessed') throw new Error('none');
    const { eventId, transferId, agreementId, transactionHash, token } = processed;
    expect(processed).toMatchObject({ finality: 'seen', confirmations: 1, revision: 1, amountBase: '9500000' });
    expect(retracted).toMatchObject({
      ...{ transferId, agreementId, transactionHash, reason: 'reorg', revision: 1 },
      ...{ amount: '9.5', amountBase: '9500000', token },
      retracts: { eventId, event: 'TransferProcessed' },
      lostBlockNumber: Number(processed.blockNumber),
      lostBlockHash: String(processed.blockHash),
    });
    expect(again).toMatchObject({ transferId, transactionHash, finality: 'seen', revision: 2 });
    expect(Number(again.blockNumber)).toBeGreaterThan(Number(processed.blockNumber));
    expect(again.blockHash).not.toBe(processed.blockHash);
    const { blockNumber, blockHash } = again;
    expect(final).toMatchObject({ transactionHash, blockNumber, blockHash, finality: 'final', revision: 2 });
  });

  test('has no less than one period', () => {
    expect(() => writeScenario('subscription', terms, 0)).toThrow(RangeError);
  });
});

describe('amounts', () => {
  test('add up exactly, also where binary fractions would not', () => {
    expect(sumAmounts(['0.1', '0.2'])).toBe('0.3');
    expect(sumAmounts(['99999999999999999999.99', '0.01'])).toBe('100000000000000000000.00');
    expect(sumAmounts(['1', '0.005'])).toBe('1.005');
    expect(sumAmounts([])).toBe('0');
  });

  test.each(['', '-1', '1e3', '1.', '.5', ' 1', '0x1'])('are refused when they are no decimal text: %p', (text) => {
    expect(() => sumAmounts([text])).toThrow(RangeError);
  });
});
