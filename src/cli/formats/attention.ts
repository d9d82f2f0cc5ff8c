import type { EntityAttention } from '../../contract/attention.ts';
import { showCount } from '../../domain/errors.ts';
import { showDuration } from './amounts.ts';

/** Each trouble in words, and the backlog if there is one. */
export function troublesOf(entity: EntityAttention, nowS: number): string[] {
  const { failingEndpoints, suspendedEndpoints, pausedEndpoints, pausedSources, waiting, dateOldestDue } = entity;
  const some = (count: number, one: string, many: string) => (count === 0 ? [] : [showCount(count, one, many)]);
  return [
    ...some(failingEndpoints, 'failing endpoint', 'failing endpoints'),
    ...some(suspendedEndpoints, 'suspended endpoint', 'suspended endpoints'),
    ...some(pausedEndpoints, 'paused endpoint that holds deliveries', 'paused endpoints that hold deliveries'),
    ...some(pausedSources, 'paused source', 'paused sources'),
    ...some(waiting, 'delivery waiting', 'deliveries waiting'),
    ...(dateOldestDue === null ? [] : [`the oldest ${showDuration((nowS - dateOldestDue) * 1000)} overdue`]),
  ];
}

/** The command that shows the worst trouble of the entity. */
export function nextCommand({
  failingEndpoints,
  suspendedEndpoints,
  dateOldestDue,
  pausedEndpoints,
}: EntityAttention): string {
  if (suspendedEndpoints > 0) return 'endpoints list --state suspended';
  if (failingEndpoints > 0) return 'endpoints list --state failing';
  if (dateOldestDue !== null) return 'deliveries list --sort-by dateNextAttempt --sort-dir asc';
  return pausedEndpoints > 0 ? 'endpoints list --state paused' : 'sources list --state paused';
}
