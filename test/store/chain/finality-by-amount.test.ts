import { expect, test } from 'bun:test';
import { paymentListQuerySchema } from '../../../src/contract/chain/payments.ts';
import type { FoundFact } from '../../../src/domain/chain/facts.ts';
import {
  type AmountRule,
  type FinalityByAmount,
  type WebhookFinality,
  webhookFinalityText,
} from '../../../src/domain/chain/finality-by-amount.ts';
import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import { readPayment } from '../../../src/store/chain/payments/detail.ts';
import { listPayments } from '../../../src/store/chain/payments/list.ts';
import { listEvents } from '../../../src/store/events/read.ts';
import { sumTokens } from '../../../src/store/reconciliation/token-sums.ts';
import { listWebhooks } from '../../../src/store/webhooks/list.ts';
import { replaceOptions } from '../../../src/store/webhooks/options.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { at, newPaidNetwork, PAYER, SHOP } from '../../support/chain/paid-network.ts';
import { CONFIRMED } from '../../support/chain/steps.ts';
import { accept, claim, newEvent } from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { attemptThat, record } from '../../support/order.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';
import { listQuery, newEntity, register, seedWebhooks, setFinality } from '../../support/webhooks.ts';

/** Listed tokens are on these networks alone, so that each test has a network to itself. */
const USDC_OF: Readonly<Record<number, string>> = {
  1: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  10: '0x0b2c639c533813f4aa9d7837caf62653d097ff85',
  137: '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359',
  8453: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  42161: '0xaf88d065e77c8cc2239327c5edb3a432268e5831',
};
const HOOK = 'https://hooks.example.com/paybell';
const RULES: FinalityByAmount = {
  rules: [
    { maxAmount: '50', tokens: ['usd'], finality: 'seen' },
    { maxAmount: '500', tokens: ['usd'], finality: 12 },
  ],
  otherwise: 'final',
};
const [SMALL, MIDDLE, LARGE] = ['50', '50.01', '500.5'] as const;

onSuiteEngine('finality by amount', (store) => {
  async function setUp(networkId: number, finality: WebhookFinality = RULES, event = 'TransferProcessed') {
    const entityId = await newEntity(store.db);
    const network = newPaidNetwork(store.db, entityId, networkId);
    await register(store.db, entityId, HOOK, [{ networkId, event }]);
    await setFinality(store.db, entityId, {}, webhookFinalityText(finality));
    // Other tests of the network have left it somewhere.
    const start = ((await network.networks.lease(networkId))?.state.head ?? 100) + 1_000;
    const payment = (amount: string | null, more: Partial<FoundFact> = {}) => {
      const fields = { amountBase: '1', token: USDC_OF[networkId], payer: PAYER, payee: SHOP };
      return network.payment(start, { fields: amount === null ? fields : { ...fields, amount }, ...more });
    };
    const see = (facts: readonly FoundFact[]) => network.pay(start, facts, { final: start - 16 });
    const step = (after: number, changes: Parameters<typeof network.step>[1] = []) =>
      network.step(start + after, changes, { final: start + after - 16 });
    return { entityId, start, ...network, payment, see, step };
  }

  /** The events of the entity in their order: `amount finality revision`, with the kind if it is a retraction. */
  async function published(entityId: string): Promise<string[]> {
    const { events } = await listEvents(store.db, entityId, {
      ...{ page: 1, limit: 100, sortBy: 'dateCreated', sortDir: 'asc' },
    });
    return events.map(({ body }) => {
      const { event, amount, finality, revision } = JSON.parse(body);
      return [event === RETRACTION ? event : '', amount, finality, revision].filter(Boolean).join(' ');
    });
  }

  async function deliverAll(entityId: string): Promise<{ url: string; body: Record<string, unknown> }[]> {
    const delivered: { url: string; body: Record<string, unknown> }[] = [];
    for (let round = 0; round < 20; round++) {
      await runTasks(store.db);
      const claimed = await claim(store.db, entityId);
      for (const one of claimed) {
        delivered.push({ url: one.postUrl, body: JSON.parse(one.body ?? '{}') });
        await record(store.db, attemptThat('delivered', one));
      }
      if (claimed.length === 0) break;
    }
    return delivered;
  }

  test('delivers each payment once, at the finality of its amount', async () => {
    const { entityId, networkId, payment, see, step } = await setUp(8453);
    await register(store.db, entityId, `${HOOK}/seen`, [{ networkId, event: 'TransferProcessed' }]);
    await register(store.db, entityId, `${HOOK}/finalized`, [{ networkId, event: 'TransferFinalized' }]);
    const euro = payment('5', { fields: { ...payment('5').fields, token: `0x${'e'.repeat(40)}` } });
    await see([payment(SMALL), payment(MIDDLE), payment(LARGE), euro, payment(null)]);
    const events: [number, string[]][] = [];
    let before = (await published(entityId)).length;
    expect((await published(entityId)).sort()).toEqual([
      '5 seen 1',
      '50 seen 1',
      '50.01 seen 1',
      '500.5 seen 1',
      'seen 1',
    ]);
    for (let after = 1; after <= 20; after++) {
      await step(after);
      const now = await published(entityId);
      if (now.length > before) events.push([after, now.slice(before).sort()]);
      before = now.length;
    }
    expect(events[0]).toEqual([11, ['50.01 12 1']]);
    expect(events[1]?.[0]).toBe(16);
    const delivered = await deliverAll(entityId);
    const ofRules = delivered.filter(({ url }) => url === HOOK);
    expect(ofRules.map(({ body }) => `${body.amount} ${body.finality}`).sort()).toEqual(
      [`${SMALL} seen`, `${MIDDLE} 12`, `${LARGE} final`, '5 final', 'undefined final'].sort(),
    );
    for (const path of ['/seen', '/finalized']) {
      const finality = path === '/seen' ? 'seen' : 'final';
      const own = delivered.filter(({ url }) => url === HOOK + path);
      expect([path, own.map(({ body }) => body.finality)]).toEqual([path, Array(5).fill(finality)]);
    }
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('retracts what it has delivered early, and nothing else, and keeps the finality of a payment that returns', async () => {
    const { entityId, start, payment, see, step } = await setUp(10);
    const [small, large] = [payment(SMALL), payment(LARGE)];
    await see([small, large]);
    expect(await deliverAll(entityId)).toHaveLength(1);
    await step(
      1,
      [small, large].map((fact) => ({ change: 'lost' as const, lostAtHead: start + 1, ...fact })),
    );
    await step(
      5,
      [small, large].map((fact) => ({ change: 'retracted' as const, ...fact })),
    );
    expect((await deliverAll(entityId)).map(({ body }) => [body.event, body.amount])).toEqual([[RETRACTION, SMALL]]);
    const back = at(start + 6, 'b');
    await step(
      6,
      [small, large].map((fact) => ({ change: 'again' as const, ...fact, position: back, evidence: CONFIRMED })),
    );
    expect((await deliverAll(entityId)).map(({ body }) => [body.amount, body.finality, body.revision])).toEqual([
      [SMALL, 'seen', 2],
    ]);
    await step(30);
    expect((await deliverAll(entityId)).map(({ body }) => [body.amount, body.finality, body.revision])).toEqual([
      [LARGE, 'final', 2],
    ]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  const LATE: FinalityByAmount = { ...RULES, rules: [{ maxAmount: '5', tokens: ['usd'], finality: 'seen' }] };
  test.each<[string, WebhookFinality, WebhookFinality, readonly [string, string]]>([
    ['a level to rules', 'final', RULES, ['final', 'seen']],
    ['rules to a level', RULES, 'final', ['seen', 'final']],
    ['rules to other rules', RULES, LATE, ['seen', 'final']],
    ['rules to earlier ones', LATE, RULES, ['final', 'seen']],
  ])('delivers a payment once if a webhook changes from %s while it waits', async (_, before, after, expected) => {
    const { entityId, start, payment, pay, step } = await setUp(137, 'final');
    const { webhooks } = await listWebhooks(store.db, entityId, listQuery({}));
    const change = (finality: WebhookFinality) =>
      replaceOptions(store.db, entityId, webhooks[0]?.webhookId ?? '', { filter: null, finality }, TEST_CHANGE);
    await change(before);
    await pay(start, [payment(SMALL)], { final: start - 16 });
    await change(after);
    await pay(start + 1, [payment('49', { position: at(start + 1) })], { final: start - 15 });
    for (let head = 2; head < 40; head += 7) await step(head);
    const delivered = (await deliverAll(entityId)).map(({ body }) => [body.amount, body.finality]);
    expect(delivered.sort()).toEqual([
      ['49', expected[1]],
      [SMALL, expected[0]],
    ]);
  });

  test('counts and delivers to more webhooks than one transaction has room for', async () => {
    const networkId = 42161;
    const entityId = await newEntity(store.db);
    const limits = { ...store.db.dialect.limits, deliveries: 3 };
    const db = alteredStore(store.db, { dialect: { ...store.db.dialect, limits } });
    const { pay, payment, networks } = newPaidNetwork(db, entityId, networkId);
    const urls = Array.from({ length: 30 }, (_, place) => `${HOOK}/${place}`);
    await seedWebhooks(
      store.db,
      entityId,
      urls.map((postUrl) => ({ networkId, event: 'TransferProcessed', postUrl })),
    );
    // Each third has rules of its own that deliver the payment early, each third has rules that deliver it late.
    for (const [place, postUrl] of urls.entries()) {
      const maxAmount = String(place % 3 === 0 ? 60 + place : 1 + place);
      const rules: AmountRule[] = [{ maxAmount, tokens: ['usd'], finality: 'seen' }];
      if (place % 3 === 2) continue;
      await setFinality(store.db, entityId, { postUrl }, webhookFinalityText({ rules, otherwise: 'final' }));
    }
    const fields = { ...payment(0).fields, token: USDC_OF[networkId], amount: '60' };
    const start = ((await networks.lease(networkId))?.state.head ?? 100) + 1_000;
    await pay(start, [payment(start, { fields })], { final: start - 16 });
    const { events } = await listEvents(store.db, entityId, {
      ...{ page: 1, limit: 10, sortBy: 'dateCreated', sortDir: 'asc' },
    });
    expect(events.map(({ deliveries }) => deliveries)).toEqual([20]);
    const delivered = (await deliverAll(entityId)).map(({ url }) => Number(url.slice(HOOK.length + 1)));
    expect(delivered.sort((a, b) => a - b)).toEqual(urls.flatMap((_, place) => (place % 3 === 1 ? [] : place)));
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('counts for a held event by the amount that its sender stated', async () => {
    const { entityId, networkId, networks, start, step } = await setUp(1);
    const held = async (eventId: string, payload: object, hash: string) => {
      const body = JSON.stringify({ eventId, event: 'TransferProcessed', networkId, ...payload });
      const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId, body });
      await accept(store.db, { ...event, heldFor: `0x${hash.repeat(32)}` });
    };
    const token = USDC_OF[networkId];
    await held(`small-${store.engine}`, { token, amount: '20' }, 'a1');
    await held(`large-${store.engine}`, { token, amount: '2000' }, 'a2');
    await held(`symbol-${store.engine}`, { token: 'USDC', amount: '20' }, 'a3');
    const waiting = (await networks.lease(networkId))?.held ?? [];
    expect(waiting).toHaveLength(3);
    await step(
      0,
      waiting.map((fact) => ({ change: 'moved' as const, ...fact, position: at(start), evidence: CONFIRMED })),
    );
    expect((await deliverAll(entityId)).map(({ body }) => body.eventId)).toEqual([`small-${store.engine}`]);
    await step(20);
    expect((await deliverAll(entityId)).map(({ body }) => body.eventId).sort()).toEqual([
      `large-${store.engine}`,
      `symbol-${store.engine}`,
    ]);
  });

  test('is what the sums of a day expect, so that a payment that waits by its rule is not missing', async () => {
    const rules: AmountRule[] = [{ maxAmount: '50', tokens: ['usd'], finality: 100 }];
    const { entityId, networkId, start, payment, see, step } = await setUp(10, { rules, otherwise: 'final' });
    const day = 20_000 * 86_400;
    const position = { ...at(start), blockS: day + networkId };
    const [small, large] = [payment(SMALL, { position }), payment(LARGE, { position })];
    await see([small, large]);
    await step(20);
    const missing = async () => {
      const range = { sinceMs: day * 1_000, untilMs: (day + 86_400) * 1_000 };
      const { tokens } = await sumTokens(store.db, { entityId, endpointNo: undefined, networkId, ...range });
      return tokens.map((token) => [token.onChain, token.missing]);
    };
    expect(await missing()).toEqual([['550.5', '0']]);
    const lose = (fact: FoundFact) =>
      store.db.transaction((queries) =>
        queries.run('delete from fact_events where entity_id = $1 and fact_id = $2', [entityId, fact.factId]),
      );
    await lose(large);
    expect(await missing()).toEqual([['550.5', LARGE]]);
    await step(110);
    await lose(small);
    expect(await missing()).toEqual([['550.5', '550.5']]);
  });

  test('shows what a payment waits for, with the rule as the reason', async () => {
    const { entityId, payment, see, step } = await setUp(1);
    const [middle, large] = [payment(MIDDLE), payment(LARGE)];
    await see([middle, large]);
    const waits = async () => {
      const { payments } = await listPayments(store.db, entityId, paymentListQuerySchema.parse({}));
      return Object.fromEntries(payments.map(({ amount, waitsFor }) => [amount, waitsFor?.finality ?? null]));
    };
    expect(await waits()).toEqual({ [MIDDLE]: '12', [LARGE]: 'final' });
    const reasons = async (fact: FoundFact) =>
      (await readPayment(store.db, entityId, fact.factId))?.webhooks.map(({ finality, reason }) => [finality, reason]);
    expect(await reasons(middle)).toEqual([
      ['12', 'The payment does not have the finality 12 yet, which the webhook wants for payments of up to 500 USD.'],
    ]);
    expect(await reasons(large)).toEqual([
      [
        'final',
        'The payment does not have the finality final yet, which the webhook wants for payments of more than 500 USD.',
      ],
    ]);
    await step(12);
    expect(await waits()).toEqual({ [MIDDLE]: null, [LARGE]: 'final' });
  });
});
