import type { Dialect } from '../../database.ts';

/** Work that continues after the transaction that started it, a bounded step at a time, on any instance. */
export function taskTables({ uuid, storage }: Dialect): string[] {
  return [
    // `store/tasks/tasks.ts` lists the kinds, with their subjects and phases. `cursor` is how far the task has come, and
    // `wait_ms` when the next step is due. `failures` counts the steps that failed in a row.
    // A task with `after_no` starts after the end of that task.
    // In a task that makes deliveries, `event_no` is their event and `made` the number of its deliveries.
    // A fan-out walks the registry as it was at `revision`. A fan-out with a finality is for the webhooks that wanted that
    // finality at `seen_revision` for a payment of `rule_amount`. `order_key` and `fact_key` keep the deliveries in order.
    `create table tasks (
      entity_id ${uuid} not null,
      no ${uuid} not null,
      subject ${uuid} not null,
      event_no ${uuid},
      after_no ${uuid},
      order_key ${uuid},
      fact_key ${uuid},
      wait_ms bigint not null,
      due_ms bigint,
      revision bigint,
      seen_revision bigint,
      made int not null default 0,
      failures int not null default 0,
      round smallint not null default 0,
      entity text collate "binary" not null,
      kind text collate "binary" not null,
      phase text not null,
      cursor text collate "binary" not null,
      finality text,
      rule_amount text collate "binary",
      primary key (entity_id, no)
    ) ${storage.updatedInPlace}`,
    'create unique index tasks_by_subject on tasks (entity_id, kind, subject, round)',
    'create index tasks_due on tasks (wait_ms, entity_id)',
    'create index tasks_by_event on tasks (entity_id, event_no) where event_no is not null',
    'create index tasks_by_order on tasks (entity_id, order_key) where order_key is not null',
    'create index tasks_after on tasks (entity_id, after_no) where after_no is not null',
  ];
}
