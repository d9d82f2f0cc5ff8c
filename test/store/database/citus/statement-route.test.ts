import { expect, test } from 'bun:test';
import { routeOf } from '../../../../src/store/database/citus/statement-route.ts';

test.each([
  ['select id from api_keys where hash = $1', 'no worker'],
  ['update webhook_health set failing = 1 where webhook_no = $1', 'no worker'],
  ['select id from webhooks where entity_id = $1 order by id', 'no worker'],
  ['update webhooks set filter_hash = $1 where entity_id = $2', 'every worker'],
  ['select id from entities where id = $1 for update', 'every worker'],
  ['select entity_id from tasks where wait_ms <= $1 group by entity_id', 'every worker'],
  [`select result from run_command_on_placements('queue', $command$ select 1 $command$)`, 'workers that respond'],
  ['select ran.result from pg_dist_shard s, master_run_on_worker(a, b, c, true) ran', 'workers that respond'],
] as const)('%s needs %s', (sql, route) => {
  expect(routeOf(sql)).toBe(route);
});

test.each([
  ['select id from queue where entity_id = $1 and webhook_no = $2', [0]],
  ['delete from queue where lease_ms < $1 and queue.entity_id = cast($2 as uuid)', [1]],
  ['select id from webhooks w join queue q on q.webhook_no = w.created_seq where q.entity_id in ($3)', [2]],
  ['insert into events (entity_id, no, body) values ($1, $2, $3), ($4, $5, $6)', [0, 3]],
  ['insert into events (no, entity_id) values ($1, cast($2 as uuid)), ($3, cast($4 as uuid))', [1, 3]],
])('%s names its entities in the parameters with the indexes %p', (sql, entitiesIn) => {
  expect(routeOf(sql)).toEqual({ entitiesIn });
});
