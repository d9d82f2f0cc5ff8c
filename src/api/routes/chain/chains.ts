import { chainListSchema } from '../../../contract/chain/chains.ts';
import { readChains } from '../../../store/chain/read/chains.ts';
import { cacheableJson, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

const list = operation({
  method: 'get',
  path: '/chains',
  operationId: 'listChains',
  tag: 'Chain',
  summary: 'List the networks that are followed',
  description:
    'How far each network of the operator’s setting CHAIN_RPC is read, and how its nodes are. The URLs of nodes are not part ' +
    'of it.',
  permission: 'deliveries:read',
  responses: taggedResponses(chainListSchema),
  handle: async ({ context: { db, config }, request }) => {
    const networkIds = config.CHAIN_RPC.map(({ networkId }) => networkId);
    return cacheableJson(request, { chains: await readChains(db, networkIds) });
  },
});

export const chainOperations: readonly Operation[] = [list];
