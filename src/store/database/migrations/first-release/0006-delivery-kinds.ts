import type { Migration } from '../migration.ts';

export const deliveryKinds: Migration = {
  version: 6,
  name: 'kinds of deliveries',
  statements: [
    // Why the delivery exists: an `event` that was accepted, an `alert` of Paybell itself, or a `test` request.
    `alter table deliveries add column kind text collate "binary" not null default 'event'`,
    // Until now, this id in place of a webhook's identified an alert. Lists still show it.
    `update deliveries set kind = 'alert' where webhook_id = 'notice' and event = 'webhook.suspended'`,
    `update deliveries set kind = 'test'
       where (entity_id, id) in (select entity_id, delivery_id from attempts where kind = 'test')`,
  ],
};
