import { expect, test } from 'bun:test';
import { NOTHING_STORED, type NumberedWebhook, sortBatch } from '../../src/domain/webhook-import.ts';

const rules = { entityWebhookLimit: 10, cellLimit: 10, nowS: 2_000 };

function lines(...webhooks: Partial<NumberedWebhook>[]): NumberedWebhook[] {
  return webhooks.map((webhook, index) => ({
    line: index + 1,
    networkId: 1,
    event: 'LatePayment',
    postUrl: `https://example.com/${index}`,
    ...webhook,
  }));
}

test('dates are kept as long as they do not run backwards, and else raised to the newest so far', () => {
  const dates = [1_000, 1_500, 1_200, undefined, 1_900];
  const { accepted } = sortBatch(lines(...dates.map((dateCreated) => ({ dateCreated }))), NOTHING_STORED, rules);
  expect(accepted.map(({ dateCreated }) => dateCreated)).toEqual([1_000, 1_500, 1_500, 2_000, 2_000]);
});

test('no date goes before that of the newest webhook in the store', () => {
  const { accepted } = sortBatch(lines({ dateCreated: 1_000 }), { ...NOTHING_STORED, newestDate: 1_700 }, rules);
  expect(accepted[0]?.dateCreated).toBe(1_700);
});

test('the same registration twice is new once and existing once, whatever ids it brings', () => {
  const same = { postUrl: 'https://example.com/same' };
  const batch = lines({ ...same, webhookId: 'a' }, { ...same, webhookId: 'b' });
  expect(sortBatch(batch, NOTHING_STORED, rules)).toMatchObject({
    accepted: [{ webhookId: 'a' }],
    existing: 1,
    refused: [],
  });
});

test('an id that an earlier line took is refused by its line', () => {
  const { accepted, refused } = sortBatch(lines({ webhookId: 'a' }, { webhookId: 'a' }), NOTHING_STORED, rules);
  expect(accepted).toHaveLength(1);
  expect(refused).toEqual([{ line: 2, reason: expect.stringContaining('webhookId a belongs to another') }]);
});

test('what exists already still counts as existing when the limit is reached', () => {
  const stored = { ...NOTHING_STORED, total: 10, registrations: new Set(['1 LatePayment https://example.com/0']) };
  const { existing, refused } = sortBatch(lines({}, {}), stored, rules);
  expect(existing).toBe(1);
  expect(refused).toEqual([{ line: 2, reason: expect.stringContaining('ENTITY_WEBHOOK_LIMIT') }]);
});

test('no more webhooks than the limit are accepted for one network and event', () => {
  const stored = { ...NOTHING_STORED, total: 1, cells: new Map([['1 LatePayment', 1]]) };
  const { accepted, refused } = sortBatch(lines({}, {}, { networkId: 10 }), stored, { ...rules, cellLimit: 2 });
  expect(accepted.map(({ networkId }) => networkId)).toEqual([1, 10]);
  expect(refused).toEqual([{ line: 2, reason: expect.stringContaining('network 1 and LatePayment have 2 webhooks') }]);
});
