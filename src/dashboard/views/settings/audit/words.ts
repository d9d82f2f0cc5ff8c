import type { AuditAction } from '../../../../contract/audit.ts';
import type { ACTORS } from '../../../../domain/keys/actors.ts';

/** Every kind of change in words. */
export const ACTION_WORDS: Readonly<Record<AuditAction, string>> = {
  'entity.created': 'Entity created',
  'entity.updated': 'Entity changed',
  'entity.visited': 'Dashboard opened by an operator',
  'key.created': 'API key created',
  'key.revoked': 'API key revoked',
  'secret.rotated': 'Secret rotated',
  'secret.imported': 'Secret imported',
  'secret.rekeyed': 'Secret encrypted again',
  'signing_key.rotated': 'Signing key rotated',
  'webhooks.registered': 'Webhooks registered',
  'webhook.updated': 'Webhook changed',
  'webhook.deleted': 'Webhook deleted',
  'webhooks.updated': 'Webhooks changed in bulk',
  'webhooks.deleted': 'Webhooks deleted in bulk',
  'webhooks.imported': 'Webhooks imported',
  'webhook.suspended': 'Webhook suspended',
  'webhook.resumed': 'Webhook resumed',
  'endpoint.updated': 'Endpoint changed',
  'endpoint.secret_rotated': 'Endpoint secret rotated',
  'source.created': 'Source created',
  'source.updated': 'Source changed',
  'source.deleted': 'Source deleted',
  'source.addresses_changed': 'Addresses of a source changed',
  'invoice.cancelled': 'Invoice cancelled',
};

/** A newer server may have kinds that the dashboard does not know. */
export function actionText(action: string): string {
  return action in ACTION_WORDS ? ACTION_WORDS[action as AuditAction] : action;
}

type Actor = (typeof ACTORS)[keyof typeof ACTORS];

const ACTOR_WORDS: Readonly<Record<Actor, string>> = {
  cli: 'Command line',
  operator: 'Operator',
  paybell: 'Paybell',
};

const NAMED_OPERATOR = 'operator:';

/** An actor in words; null for an API key, which has an ID. */
export function actorText(actor: string): string | null {
  if (actor.startsWith(NAMED_OPERATOR)) return `Operator ${actor.slice(NAMED_OPERATOR.length)}`;
  return actor in ACTOR_WORDS ? ACTOR_WORDS[actor as Actor] : null;
}
