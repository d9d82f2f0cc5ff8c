import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseBody } from '../../src/contract/parse-input.ts';
import {
  pairsOf,
  type RegistrationRules,
  registrationSchema,
  webhookListQuerySchema,
  webhookListSchema,
  webhookSchema,
} from '../../src/contract/webhooks.ts';
import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';
import { DEFAULT_NETWORKS, MAX_NETWORK_ID, networkName } from '../../src/domain/networks.ts';

const rules: RegistrationRules = { allowInsecureTargets: false, networks: [1, 10], events: [...EVENT_KINDS, 'Refund'] };
const schema = registrationSchema(rules);
const postUrl = 'https://example.com/hook';

function errorsOf(body: unknown): [string, string][] {
  const result = parseBody(schema, body);
  return result.ok ? [] : result.errors.map(({ name, message }) => [name, message]);
}

describe('a registration', () => {
  test('with only a postUrl means every known pair', () => {
    const pairs = pairsOf({ postUrl }, rules);
    expect(pairs).toHaveLength(rules.networks.length * rules.events.length);
    expect(pairsOf({ postUrl, networkIds: [], events: [] }, rules)).toEqual(pairs);
  });

  test('makes each pair once however often it is named', () => {
    const pairs = pairsOf({ postUrl, networkIds: [5, 5, 7], events: ['Refund', 'Refund'] }, rules);
    expect(pairs).toEqual([
      { networkId: 5, event: 'Refund' },
      { networkId: 7, event: 'Refund' },
    ]);
  });

  test('takes every network id from 0 to 2^53−1', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (networkId) => {
        expect(errorsOf({ postUrl, networkIds: [0, MAX_NETWORK_ID, networkId] })).toEqual([]);
      }),
    );
  });

  test.each([[-1], [-1.5], [2.5], [2 ** 53], [1e300], ['1'], [null], [true], [[1]], [{}]])(
    'refuses %j as a network id',
    (networkId) => {
      expect(errorsOf({ postUrl, networkIds: [1, networkId] })).toEqual([
        ['networkIds.1', `must be a network id: a whole number from 0 to ${MAX_NETWORK_ID}, without quotes`],
      ]);
    },
  );

  test.each(['latePayment', 'LatePayment ', '', 'Nope', 7, null])('refuses %j as an event', (event) => {
    expect(errorsOf({ postUrl, events: [event] })).toEqual([
      ['events.0', expect.stringContaining('must be one of AgreementSignedUp')],
    ] as never);
  });

  test.each([
    ['networkIds', 'networkIds', 'must be an array of network ids'],
    ['events', 'events', 'must be an array of event kinds'],
  ])('refuses %s that is no array', (field, name, message) => {
    for (const value of [null, 1, 'LatePayment', {}]) {
      expect(errorsOf({ postUrl, [field]: value })).toEqual([[name, message]]);
    }
  });

  test.each([
    [undefined, 'is required'],
    [null, 'must be a string'],
    [5, 'must be a string'],
    ['', expect.stringContaining('is empty')],
    ['http://example.com/', expect.stringContaining('https://')],
  ])('refuses the postUrl %j', (given, message) => {
    expect(errorsOf({ postUrl: given })).toEqual([['postUrl', message as string]]);
  });

  test('names the errors of all its fields at once', () => {
    const errors = errorsOf({ posturl: postUrl, networkIds: [-1], events: ['Nope'] });
    expect(errors.map(([name]) => name).sort()).toEqual(['events.0', 'networkIds.0', 'postUrl', 'posturl']);
  });

  test.each([[null], [[]], ['text'], [7], [true]])(
    'that is %j instead of an object is refused in one sentence',
    (body) => {
      expect(errorsOf(body)).toEqual([['', 'the body must be a JSON object']]);
    },
  );

  test('of a thousand pairs is taken and of one more refused', () => {
    const networks = (count: number) => Array.from({ length: count }, (_, index) => index);
    expect(errorsOf({ postUrl, networkIds: networks(1_000), events: ['Refund'] })).toEqual([]);
    const over = { postUrl, networkIds: networks(501), events: ['Refund', 'LatePayment'] };
    expect(errorsOf(over)).toEqual([['', expect.stringContaining('at most 1000')]] as never);
  });
});

describe('the list', () => {
  test('has the documented defaults', () => {
    expect(webhookListQuerySchema.parse({})).toEqual({ page: 1, limit: 25, sortBy: 'dateCreated', sortDir: 'desc' });
  });

  test('filters by exactly the seven events of the contract', () => {
    for (const event of EVENT_KINDS) expect(webhookListQuerySchema.parse({ event })).toMatchObject({ event });
    expect(webhookListQuerySchema.safeParse({ event: 'Refund' }).success).toBe(false);
    expect([...EVENT_KINDS]).toEqual([
      'AgreementSignedUp',
      'AgreementCancelled',
      'ScheduledAgreementCancel',
      'TransferProcessed',
      'TransferCreated',
      'TransferFinalized',
      'LatePayment',
    ]);
  });

  test('shows the five fields of the contract and no others', () => {
    expect(Object.keys(webhookSchema.shape)).toEqual(['webhookId', 'networkId', 'event', 'postUrl', 'dateCreated']);
    expect(Object.keys(webhookListSchema.shape)).toEqual(['totalResults', 'webhooks']);
  });
});

test('every default network has a name, and any other has one too', () => {
  for (const networkId of DEFAULT_NETWORKS) expect(networkName(networkId)).not.toContain('Network');
  expect(networkName(123_456)).toBe('Network 123456');
});
