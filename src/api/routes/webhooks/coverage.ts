import { type Config, knownEvents, knownNetworks } from '../../../config.ts';
import { coverageSchema } from '../../../contract/webhooks.ts';
import { readCoverage } from '../../../store/webhooks/coverage.ts';
import { cacheableJson, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

export function coverageOperations(config: Config): Operation[] {
  return [coverage(config)];
}

function coverage(config: Config): Operation {
  const known = { networks: knownNetworks(config), events: knownEvents(config) };
  return operation({
    method: 'get',
    path: '/webhooks/coverage',
    operationId: 'readCoverage',
    tag: 'Webhooks',
    summary: 'Retrieve the coverage',
    description: 'Returns the number of webhooks for every network and event kind, to find the ones without any.',
    permission: 'webhooks:read',
    responses: taggedResponses(coverageSchema),
    handle: async ({ context, caller, request }) =>
      cacheableJson(request, await readCoverage(context.db, caller.entityId, known)),
  });
}
