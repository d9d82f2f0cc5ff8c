import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { eventsPage } from '../../docs/generate-events.ts';
import {
  EVENT_MEANINGS,
  RETRACTION_MEANING,
  sampleEvent,
  sampleRetraction,
} from '../../src/contract/events/samples.ts';
import { postedEventSchema } from '../../src/contract/events.ts';
import { caip2 } from '../../src/domain/chain/families/families.ts';
import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';
import { MAX_NETWORK_ID } from '../../src/domain/networks.ts';

const NOW_S = 1_763_168_400;
const EVENT_ID = 'evt_0199c2a7118c7b0e9f2d6a5b4c3d2e1f';
const FAMILIES = { 'an EVM network': 8453, Solana: 900, 'the devnet of Solana': 901 };
const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** How many bytes a text in base58 stands for. */
function base58Bytes(text: string): number {
  let value = 0n;
  for (const letter of text) {
    const digit = BASE58.indexOf(letter);
    if (digit < 0) throw new Error(`${letter} is not base58`);
    value = value * 58n + BigInt(digit);
  }
  return Math.ceil(value.toString(16).length / 2);
}

const CASES = EVENT_KINDS.flatMap((event) =>
  Object.entries(FAMILIES).map(([family, networkId]) => ({ event, family, networkId })),
);

describe.each(CASES)('the sample of $event on $family', ({ event, networkId }) => {
  const sample = sampleEvent(event, networkId, EVENT_ID, NOW_S);

  test('is an event that would be accepted as it is', () => {
    expect(sample).toMatchObject(postedEventSchema(EVENT_KINDS).parse(sample));
    expect(sample).toMatchObject({
      eventId: EVENT_ID,
      event,
      networkId,
      network: caip2(networkId),
      dateCreated: NOW_S,
    });
  });

  test('has its amount as a decimal string, and no number that a language could round', () => {
    expect(sample.amount).toMatch(/^\d+\.\d{2}$/);
    for (const value of Object.values(sample)) {
      if (typeof value === 'number') expect(value).toSatisfy((number) => Number.isSafeInteger(number));
    }
  });

  test('has addresses and a transaction of its own network', () => {
    const { payer, payee, token, transactionHash } = sample;
    const isEvm = networkId === 8453;
    for (const address of [payer, payee, token].map(String)) {
      if (isEvm) expect(address).toMatch(/^0x[0-9a-fA-F]{40}$/);
      else expect(base58Bytes(address)).toBe(32);
    }
    expect(new Set([payer, payee, token]).size).toBe(3);
    if (transactionHash === undefined) return;
    if (isEvm) expect(transactionHash).toMatch(/^0x[0-9a-f]{64}$/);
    else expect(base58Bytes(String(transactionHash))).toBe(64);
  });

  test('names its agreement, and its transfer where it is about one', () => {
    expect(sample.agreementId).toMatch(/^agr_[0-9a-f]{32}$/);
    const isTransfer = event.startsWith('Transfer') || event === 'LatePayment';
    if (isTransfer) expect(sample.transferId).toMatch(/^trf_[0-9a-f]{32}$/);
    else expect(sample).not.toHaveProperty('transferId');
  });

  test('dates nothing that has happened into the future', () => {
    for (const [name, value] of Object.entries(sample)) {
      if (!name.startsWith('date') || name === 'dateEnds') continue;
      expect(value).toBeNumber();
      expect(Number(value)).toBeLessThanOrEqual(NOW_S);
    }
  });
});

describe('the samples', () => {
  const sampleOf = (event: string) => sampleEvent(event, 1, 'evt_1', NOW_S);

  test('tell one story: the same agreement and the same transfer through all seven', () => {
    const all = EVENT_KINDS.map(sampleOf);
    expect(new Set(all.map(({ agreementId }) => agreementId)).size).toBe(1);
    expect(new Set(all.flatMap(({ transferId }) => (transferId === undefined ? [] : [transferId]))).size).toBe(1);
  });

  test('have a transaction only from the moment it is on the network, and it is final only when it is finalized', () => {
    expect(sampleOf('TransferCreated')).not.toHaveProperty('transactionHash');
    expect(sampleOf('LatePayment')).not.toHaveProperty('transactionHash');
    expect(sampleOf('TransferProcessed')).toMatchObject({ status: 'processed', confirmations: 0 });
    expect(Number(sampleOf('TransferFinalized').confirmations)).toBeGreaterThan(0);
    expect(sampleOf('TransferFinalized').transactionHash).toEqual(sampleOf('TransferProcessed').transactionHash);
  });

  test('have a retraction of the processed transfer, which would be accepted as it is', () => {
    const retraction = sampleRetraction(8453, 'evt_2', 'evt_1', NOW_S);
    expect(retraction).toMatchObject(postedEventSchema(EVENT_KINDS).parse(retraction));
    const { transactionHash, transferId, agreementId } = sampleOf('TransferProcessed');
    expect(retraction).toMatchObject({ transactionHash, transferId, agreementId, retracts: { eventId: 'evt_1' } });
    expect(retraction.lostBlockHash).toMatch(/^0x[0-9a-f]{64}$/);
  });

  test('of a kind that an operator added, or of one named like a part of the language, has the common fields', () => {
    for (const event of ['RefundIssued', 'constructor', 'toString', '__proto__']) {
      expect(Object.keys(sampleOf(event))).toEqual(['eventId', 'event', 'networkId', 'network', 'dateCreated']);
    }
  });

  test('name any network in CAIP-2', () => {
    expect(caip2(1)).toBe('eip155:1');
    expect(caip2(900)).toBe('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_NETWORK_ID }), (networkId) => {
        expect(caip2(networkId)).toMatch(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/);
      }),
    );
  });
});

describe('docs/events.md', () => {
  const page = () => Bun.file(resolve(import.meta.dir, '../../docs/events.md')).text();

  test('is generated from the samples; if this fails, run: npx bun docs/generate-events.ts', async () => {
    expect(await page()).toBe(eventsPage());
  });

  test('says of every kind what it means and shows a sample that parses', async () => {
    const text = await page();
    for (const event of EVENT_KINDS) {
      const section = text.split(`## ${event}\n`)[1]?.split('\n## ')[0] ?? '';
      expect(section).toContain(EVENT_MEANINGS[event]);
      expect(JSON.parse(/```json\n([\s\S]*?)```/.exec(section)?.[1] ?? '')).toMatchObject({ event, networkId: 8453 });
    }
    expect(text).toContain(`## EventRetracted\n\n${RETRACTION_MEANING}`);
  });
});
