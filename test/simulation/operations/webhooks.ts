import type { WebhookOptionsReplacement } from '../../../src/contract/webhooks/options.ts';
import { type WebhookFinality, webhookFinalityText } from '../../../src/domain/chain/finality-by-amount.ts';
import { deleteWebhook, moveWebhook } from '../../../src/store/webhooks/change.ts';
import { replaceOptions } from '../../../src/store/webhooks/options.ts';
import { registerWebhooks } from '../../../src/store/webhooks/register.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { RULES } from '../fleet/amounts.ts';
import { changeNow } from '../fleet/settings.ts';
import { type History, openSpan } from '../model/history.ts';
import { PAID, POSTED, type WebhookModel } from '../model/model.ts';
import { URLS } from '../model/urls.ts';
import type { RequestOptions, Simulation } from '../simulation.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { Actions, Operation } from './operation.ts';

/** What entities do with their webhooks. */

const MOST_WEBHOOKS = 18;
const DEFAULT_FINALITY = 'seen';
const FINALITIES: readonly WebhookFinality[] = ['seen', 'seen', 'safe', 'final', 3, RULES, RULES];

/** The service keeps filters by their text, so that each run of a process has its own, and begins without any. */
function leastAmount(): number {
  return 100 + world.runs / 1_000_000;
}

export function register(simulation: Simulation, draw: Random, name: string, event: string, postUrl: string): void {
  const { model, network, entityId } = simulation;
  const webhook = model.addWebhook(name, event, postUrl, DEFAULT_FINALITY, world.nowMs);
  simulation.request(
    draw,
    async ({ db }) => {
      const pairs = [{ networkId: network.networkId, event }];
      const { webhooks, created } = await registerWebhooks(
        db,
        entityId,
        { postUrl, pairs, entityWebhookLimit: 1_000 },
        changeNow(),
      );
      // One that is there already belongs to an earlier registration.
      if (created === 0) model.webhooks.splice(model.webhooks.indexOf(webhook), 1);
      else webhook.webhookId = webhooks[0]?.webhookId ?? null;
    },
    { span: webhook.registration },
  );
}

function registerOne(simulation: Simulation, draw: Random, { index }: Operation) {
  if (simulation.model.webhooks.filter(({ deletion }) => deletion === null).length >= MOST_WEBHOOKS) return null;
  const postUrl = draw.pick(URLS) ?? '';
  register(simulation, draw, `w${index}`, draw.pick([POSTED[0] ?? '', ...POSTED, PAID, PAID]) ?? '', postUrl);
  return { webhook: `w${index}` };
}

/** A change of one setting of a webhook, which the model notes from its begin to its answer. */
function change<Value>(history: History<Value>, value: Value): RequestOptions {
  const span = history.begin(value, world.nowMs);
  return { span, onRejected: () => history.withdraw(span) };
}

function pickWebhook(
  { model }: Simulation,
  draw: Random,
  kinds?: readonly string[],
): (WebhookModel & { webhookId: string }) | null {
  const webhook = draw.pick(model.present.filter((one) => kinds === undefined || kinds.includes(one.event)));
  if (webhook === undefined || webhook.webhookId === null) return null;
  return Object.assign(webhook, { webhookId: webhook.webhookId });
}

function move(simulation: Simulation, draw: Random) {
  const webhook = pickWebhook(simulation, draw);
  if (webhook === null) return null;
  const { entityId } = simulation;
  const postUrl = draw.pick(URLS) ?? '';
  simulation.request(
    draw,
    async ({ db }) => {
      await moveWebhook(db, entityId, webhook.webhookId, postUrl, () => true, changeNow());
    },
    change(webhook.postUrl, postUrl),
  );
  return { webhook: webhook.name };
}

function setOptions(
  simulation: Simulation,
  draw: Random,
  webhook: WebhookModel & { webhookId: string },
  replacement: WebhookOptionsReplacement,
  options: RequestOptions,
) {
  const { entityId } = simulation;
  simulation.request(
    draw,
    async ({ db }) => {
      await replaceOptions(db, entityId, webhook.webhookId, replacement, changeNow());
    },
    options,
  );
  return { webhook: webhook.name };
}

function filter(simulation: Simulation, draw: Random) {
  const webhook = pickWebhook(simulation, draw, POSTED);
  if (webhook === null) return null;
  const least = draw.chance(0.5) ? leastAmount() : null;
  const replacement = { filter: least === null ? null : { amount: { min: String(least) } } };
  return setOptions(simulation, draw, webhook, replacement, change(webhook.filter, least));
}

function finality(simulation: Simulation, draw: Random) {
  const webhook = pickWebhook(simulation, draw, [PAID]);
  const value = draw.pick(FINALITIES) ?? DEFAULT_FINALITY;
  if (webhook === null) return null;
  const replacement = { filter: null, finality: value };
  return setOptions(simulation, draw, webhook, replacement, change(webhook.finality, webhookFinalityText(value)));
}

function suspend(simulation: Simulation, draw: Random) {
  const webhook = pickWebhook(simulation, draw);
  if (webhook === null) return null;
  simulation.request(draw, async ({ db }) => {
    await suspendWebhook(db, simulation.entityId, webhook.webhookId, 'failing', changeNow());
  });
  return { webhook: webhook.name };
}

function resume(simulation: Simulation, draw: Random) {
  const webhook = pickWebhook(simulation, draw);
  if (webhook === null) return null;
  simulation.request(draw, async ({ db, onWork }) => {
    await resumeWebhook(db, simulation.entityId, webhook.webhookId, changeNow());
    onWork();
  });
  return { webhook: webhook.name };
}

function remove(simulation: Simulation, draw: Random) {
  const webhook = pickWebhook(simulation, draw);
  if (webhook === null) return null;
  const deletion = openSpan(world.nowMs);
  webhook.deletion = deletion;
  simulation.request(
    draw,
    async ({ db, onWork }) => {
      await deleteWebhook(db, simulation.entityId, webhook.webhookId, () => true, changeNow());
      onWork();
    },
    { span: deletion },
  );
  return { webhook: webhook.name };
}

export const WEBHOOK_ACTIONS: Actions = {
  register: { weight: 5, begin: registerOne },
  move: { weight: 7, begin: move },
  filter: { weight: 4, begin: filter },
  finality: { weight: 4, begin: finality },
  suspend: { weight: 2, begin: suspend },
  resume: { weight: 4, begin: resume },
  delete: { weight: 2, begin: remove },
};
