import {
  addAddressesSchema,
  addressChangeSchema,
  addressListQuerySchema,
  addressListSchema,
  removeAddressesSchema,
} from '../../../contract/chain/addresses.ts';
import { notFollowed } from '../../../contract/chain/network-problems.ts';
import { type InputError, invalidRequest, Problem } from '../../../contract/problems.ts';
import { rulesOf } from '../../../domain/chain/families/families.ts';
import { addAddresses, type BookResult, removeAddresses } from '../../../store/chain/addresses/change-book.ts';
import { listAddresses } from '../../../store/chain/addresses/list.ts';
import { readSource } from '../../../store/chain/sources/sources.ts';
import { type ApiContext, changeBy } from '../../context.ts';
import { found, missing } from '../../http/found.ts';
import { cacheableJson, json, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

const PATH = '/sources/{sourceId}/addresses';

const add = operation({
  method: 'post',
  path: PATH,
  operationId: 'addAddresses',
  tag: 'Chain',
  summary: 'Add addresses to the book of a source',
  description:
    'The source must have an `addressBook`. Payments count from `fromBlock` on, which is the block after the newest one that ' +
    'Paybell has read, without a gap. An address that is in the book already gets the agreement and the reference of the ' +
    'request, for payments that Paybell reads from then on.',
  permission: 'webhooks:write',
  body: addAddressesSchema,
  responses: { 200: { description: 'Ok', schema: addressChangeSchema } },
  problems: ['not_found', 'conflict', 'address_limit', 'network_not_followed'],
  handle: async ({ context, caller, id, body }) => {
    const { db, config } = context;
    const texts = body.addresses.map(({ address }) => address);
    const stored = await parseAddresses(context, caller.entityId, id, texts, (at) => `addresses.${at}.address`);
    const addresses = body.addresses.map((one, at) => ({ ...one, address: stored[at] ?? one.address }));
    const limits = { ofEntity: config.ENTITY_ADDRESS_LIMIT, ofNetwork: config.CHAIN_ADDRESS_LIMIT };
    const change = changeBy(context, caller);
    return changed(await addAddresses(db, caller.entityId, id, addresses, limits, change));
  },
});

const remove = operation({
  method: 'delete',
  path: PATH,
  operationId: 'removeAddresses',
  tag: 'Chain',
  summary: 'Remove addresses from the book of a source',
  description:
    'Payments in blocks that Paybell knows of still count; later ones do not. Facts stay. Addresses that are not in the book ' +
    'are passed over.',
  permission: 'webhooks:write',
  body: removeAddressesSchema,
  responses: { 200: { description: 'Ok', schema: addressChangeSchema } },
  problems: ['not_found', 'conflict', 'network_not_followed'],
  handle: async ({ context, caller, id, body }) => {
    const addresses = await parseAddresses(context, caller.entityId, id, body.addresses, (at) => `addresses.${at}`);
    return changed(await removeAddresses(context.db, caller.entityId, id, addresses, changeBy(context, caller)));
  },
});

const list = operation({
  method: 'get',
  path: PATH,
  operationId: 'listAddresses',
  tag: 'Chain',
  summary: 'List the address book of a source',
  permission: 'webhooks:read',
  query: addressListQuerySchema,
  responses: taggedResponses(addressListSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id, query }) => {
    const source = found(await readSource(context.db, caller.entityId, id), 'source');
    const { addresses, ...list } = await listAddresses(context.db, caller.entityId, id, query);
    const { show } = rulesOf(source.networkId).addresses;
    return cacheableJson(request, {
      ...list,
      addresses: addresses.map((one) => ({ ...one, address: show(one.address) })),
    });
  },
});

export const addressOperations: readonly Operation[] = [add, remove, list];

/** Returns the stored form of each address. Rejects wrong checksums, and addresses that are in the list twice. */
async function parseAddresses(
  { chain, db }: ApiContext,
  entityId: string,
  sourceId: string,
  texts: readonly string[],
  nameOf: (at: number) => string,
): Promise<string[]> {
  const source = found(await readSource(db, entityId, sourceId), 'source');
  if (chain === null) throw notFollowed(source.networkId);
  const errors: InputError[] = [];
  const first = new Map<string, number>();
  for (const [at, parsed] of (await chain.parseAddresses(source.networkId, texts)).entries()) {
    if ('error' in parsed) {
      errors.push({ in: 'body', name: nameOf(at), message: parsed.error });
      continue;
    }
    const before = first.get(parsed.value);
    if (before === undefined) first.set(parsed.value, at);
    else errors.push({ in: 'body', name: nameOf(at), message: `is the same as ${nameOf(before)}` });
  }
  if (errors.length > 0) throw invalidRequest(errors);
  return [...first.keys()];
}

function changed(result: BookResult): Response {
  if (result.kind === 'changed') return json(200, result.result);
  if (result.kind === 'absent') throw missing('source');
  const detail =
    'The source has no address book. Create a source with `addressBook`, such as "to" for the preset erc20.';
  throw new Problem('conflict', detail);
}
